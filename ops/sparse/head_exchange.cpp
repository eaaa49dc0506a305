#include "ops/sparse/head_exchange.h"

#include <algorithm>
#include <vector>

#include "ops/combine.h"
#include "ops/kernels/exchange.h"

namespace rodeo {
namespace {

std::int64_t heads_of_each(std::int64_t heads, int ranks) {
  return std::max<std::int64_t>(1, (heads + ranks - 1) / ranks);
}

/// Rows of k columns that this rank exchanges with each rank.
struct ExchangedRows {
  std::vector<std::int64_t> local_nodes;  // of its nodes, for the heads of that rank
  std::vector<std::int64_t> local_heads;  // of its heads, for the nodes of that rank
};
ExchangedRows exchanged_rows(const NodePartition& nodes, std::int64_t heads) {
  const int ranks = nodes.ranks().size();
  const std::int64_t local = heads_of_rank(heads, ranks, nodes.ranks().rank()).count();
  ExchangedRows out;
  for (int rank = 0; rank < ranks; ++rank) {
    out.local_nodes.push_back(nodes.num_rows() * heads_of_rank(heads, ranks, rank).count());
    out.local_heads.push_back(nodes.rows()[static_cast<std::size_t>(rank)] * local);
  }
  return out;
}

/// How the heads of a row are cut: equal blocks of `width` columns, and a remainder.
struct HeadBlocks {
  std::int64_t width, blocks;
  HeadBlocks(std::int64_t heads, int ranks, std::int64_t k)
      : width(heads_of_each(heads, ranks) * k), blocks(heads / heads_of_each(heads, ranks)) {}
  std::int64_t columns() const { return width * blocks; }
};

/// [rows, heads k] -> the heads of each rank, one after the other: [rows heads, k]
Tensor split_heads(const Tensor& x, const HeadBlocks& cut, const Shape& shape) {
  const std::int64_t rows = x.dim(0), rest = x.dim(1) - cut.columns();
  const Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  if (out.numel() == 0) return out;
  const Tensor flat = out.reshape({out.numel()});
  const std::int64_t in_blocks = rows * cut.columns();
  if (in_blocks > 0)
    kernels::split_columns.on(x.device())(x, flat.slice(0, in_blocks).reshape({cut.blocks, rows, cut.width}));
  if (rest > 0)
    flat.slice(in_blocks, out.numel()).copy_from(columns(x, cut.columns(), x.dim(1)).reshape({rows * rest}));
  return out;
}

/// The inverse of split_heads.
Tensor join_heads(const Tensor& x, const HeadBlocks& cut, std::int64_t rows, std::int64_t all) {
  const std::int64_t rest = all - cut.columns(), in_blocks = rows * cut.columns();
  const Tensor flat = x.reshape({x.numel()});
  const Tensor out = Tensor::empty({rows, cut.columns()}, x.dtype(), x.device());
  if (in_blocks > 0)
    kernels::join_columns.on(x.device())(flat.slice(0, in_blocks).reshape({cut.blocks, rows, cut.width}),
                                         out);
  if (rest == 0) return out;
  return concat_columns({out, flat.slice(in_blocks, x.numel()).clone().reshape({rows, rest})});
}

Tensor to_heads(const NodePartition& nodes, const Tensor& x) {
  const std::int64_t heads = x.dim(1), k = x.dim(2);
  const Communicator& ranks = nodes.ranks();
  const ExchangedRows rows = exchanged_rows(nodes, heads);
  const HeadBlocks cut(heads, ranks.size(), k);
  const Tensor sent = split_heads(x.reshape({x.dim(0), heads * k}), cut, {x.dim(0) * heads, k});
  return ranks.all_to_all(sent, rows.local_nodes, rows.local_heads)
      .reshape({nodes.num_nodes(), heads_of_rank(heads, ranks.size(), ranks.rank()).count(), k});
}

Tensor to_rows(const NodePartition& nodes, const Tensor& x, std::int64_t heads) {
  const std::int64_t k = x.dim(2), num_rows = nodes.num_rows();
  const ExchangedRows rows = exchanged_rows(nodes, heads);
  const Tensor received =
      nodes.ranks().all_to_all(x.reshape({x.dim(0) * x.dim(1), k}), rows.local_heads, rows.local_nodes);
  const HeadBlocks cut(heads, nodes.ranks().size(), k);
  return join_heads(received, cut, num_rows, heads * k).reshape({num_rows, heads, k});
}

}  // namespace

HeadRange heads_of_rank(std::int64_t heads, int ranks, int rank) {
  const std::int64_t each = heads_of_each(heads, ranks);
  return {std::min(heads, rank * each), std::min(heads, (rank + 1) * each)};
}

Variable heads_of_rows(const NodePartition& nodes, const Variable& x) {
  return record(
      "heads_of_rows", to_heads(nodes, x.value()), {x},
      [nodes = nodes, heads = x.dim(1)](const Tensor& dy) { return std::vector{to_rows(nodes, dy, heads)}; });
}

Variable rows_of_heads(const NodePartition& nodes, const Variable& x, std::int64_t heads) {
  return record("rows_of_heads", to_rows(nodes, x.value(), heads), {x},
                [nodes = nodes](const Tensor& dy) { return std::vector{to_heads(nodes, dy)}; });
}

}  // namespace rodeo
