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

/// Rows of k columns that go to each rank, and come from it.
struct Blocks {
  std::vector<std::int64_t> by_heads, by_rows;
};
Blocks blocks_of(const NodePartition& nodes, std::int64_t heads) {
  const int ranks = nodes.ranks().size();
  const std::int64_t mine = heads_of_rank(heads, ranks, nodes.ranks().rank()).count();
  Blocks out;
  for (int rank = 0; rank < ranks; ++rank) {
    out.by_heads.push_back(nodes.num_rows() * heads_of_rank(heads, ranks, rank).count());
    out.by_rows.push_back(nodes.rows()[static_cast<std::size_t>(rank)] * mine);
  }
  return out;
}

/// How the heads of a row are cut: parts of `width` columns, and the rest.
struct Cut {
  std::int64_t width, parts;
  Cut(std::int64_t heads, int ranks, std::int64_t k)
      : width(heads_of_each(heads, ranks) * k), parts(heads / heads_of_each(heads, ranks)) {}
  std::int64_t columns() const { return width * parts; }
};

/// [rows, heads k] -> the heads of each rank, one after the other: [rows heads, k]
Tensor split_heads(const Tensor& x, const Cut& cut, const Shape& shape) {
  const std::int64_t rows = x.dim(0), rest = x.dim(1) - cut.columns();
  const Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  if (out.numel() == 0) return out;
  const Tensor flat = out.reshape({out.numel()});
  const std::int64_t whole = rows * cut.columns();
  if (whole > 0)
    kernels::split_columns.on(x.device())(x, flat.slice(0, whole).reshape({cut.parts, rows, cut.width}));
  if (rest > 0)
    flat.slice(whole, out.numel()).copy_from(columns(x, cut.columns(), x.dim(1)).reshape({rows * rest}));
  return out;
}

Tensor join_heads(const Tensor& x, const Cut& cut, std::int64_t rows, std::int64_t all) {
  const std::int64_t rest = all - cut.columns(), whole = rows * cut.columns();
  const Tensor flat = x.reshape({x.numel()});
  const Tensor out = Tensor::empty({rows, cut.columns()}, x.dtype(), x.device());
  if (whole > 0)
    kernels::join_columns.on(x.device())(flat.slice(0, whole).reshape({cut.parts, rows, cut.width}), out);
  if (rest == 0) return out;
  return concat_columns({out, flat.slice(whole, x.numel()).clone().reshape({rows, rest})});
}

}  // namespace

HeadRange heads_of_rank(std::int64_t heads, int ranks, int rank) {
  const std::int64_t each = heads_of_each(heads, ranks);
  return {std::min(heads, rank * each), std::min(heads, (rank + 1) * each)};
}

Tensor heads_of_rows(const NodePartition& nodes, const Tensor& x) {
  const std::int64_t heads = x.dim(1), k = x.dim(2);
  const Communicator& ranks = nodes.ranks();
  const Blocks blocks = blocks_of(nodes, heads);
  const Tensor sent =
      split_heads(x.reshape({x.dim(0), heads * k}), Cut(heads, ranks.size(), k), {x.dim(0) * heads, k});
  return ranks.all_to_all(sent, blocks.by_heads, blocks.by_rows)
      .reshape({nodes.num_nodes(), heads_of_rank(heads, ranks.size(), ranks.rank()).count(), k});
}

Tensor rows_of_heads(const NodePartition& nodes, const Tensor& x, std::int64_t heads) {
  const std::int64_t k = x.dim(2), rows = nodes.num_rows();
  const Blocks blocks = blocks_of(nodes, heads);
  const Tensor received =
      nodes.ranks().all_to_all(x.reshape({x.dim(0) * x.dim(1), k}), blocks.by_rows, blocks.by_heads);
  return join_heads(received, Cut(heads, nodes.ranks().size(), k), rows, heads * k).reshape({rows, heads, k});
}

Variable heads_of_rows(const NodePartition& nodes, const Variable& x) {
  const NodePartition of = nodes;
  const std::int64_t heads = x.dim(1);
  return record("heads_of_rows", heads_of_rows(nodes, x.value()), {x},
                [of, heads](const Tensor& dy) { return std::vector{rows_of_heads(of, dy, heads)}; });
}

Variable rows_of_heads(const NodePartition& nodes, const Variable& x, std::int64_t heads) {
  const NodePartition of = nodes;
  return record("rows_of_heads", rows_of_heads(nodes, x.value(), heads), {x},
                [of](const Tensor& dy) { return std::vector{heads_of_rows(of, dy)}; });
}

}  // namespace rodeo
