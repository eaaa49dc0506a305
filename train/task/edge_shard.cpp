#include "train/task/edge_shard.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/graph_hash.h"
#include "train/task/rank_shard.h"

namespace rodeo {
namespace {

struct Edges {
  Tensor row, col;  // i32 [edges]
  Tensor weight;    // f32 [edges]; undefined without edge weights
};

/// The sums over ranks of values [k].
std::vector<std::int64_t> sums(const Communicator& ranks, const std::vector<std::int64_t>& own) {
  const Tensor sum = Tensor::from(own);
  ranks.all_reduce(sum);
  return sum.to_vector<std::int64_t>();
}

/// The degrees of all nodes as row pointers: of edges that end there and, where `undirected`, begin there.
std::vector<std::int64_t> row_pointers(const EdgePart& part, std::int64_t nodes, bool undirected,
                                       const Communicator& ranks) {
  const Tensor degree = Tensor::zeros({nodes + 1}, DType::kI64);
  auto* count = degree.data<std::int64_t>() + 1;
  const auto *src = part.src.data<std::int32_t>(), *dst = part.dst.data<std::int32_t>();
  for (std::int64_t e = 0; e < part.dst.numel(); ++e) {
    ++count[dst[e]];
    if (undirected) ++count[src[e]];
  }
  ranks.all_reduce(degree);
  std::vector<std::int64_t> row_ptr = degree.to_vector<std::int64_t>();
  for (std::size_t i = 1; i < row_ptr.size(); ++i) row_ptr[i] += row_ptr[i - 1];
  return row_ptr;
}

/// Sends each edge to the rank that has its row, and returns those of the rank's rows in the order of their
/// senders, and for each sender in its order. Rows are numbered over all nodes.
Edges send_to_owners(const NodePartition& nodes, const Edges& edges) {
  const Communicator& ranks = nodes.ranks();
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::int64_t> ends;
  for (const std::int64_t rows : nodes.rows()) ends.push_back((ends.empty() ? 0 : ends.back()) + rows);
  const std::int64_t count = edges.row.numel();
  const auto *row = edges.row.data<std::int32_t>(), *col = edges.col.data<std::int32_t>();
  const auto owner = [&](std::int64_t e) {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends, std::int64_t{row[e]}) - ends.begin());
  };
  std::vector<std::int64_t> sent(size), place(size), received(size);
  for (std::int64_t e = 0; e < count; ++e) ++sent[owner(e)];
  for (std::size_t r = 1; r < size; ++r) place[r] = place[r - 1] + sent[r - 1];
  const Tensor packed = Tensor::empty({count, 2}, DType::kI32),
               weight = edges.weight.defined() ? Tensor::empty({count}, DType::kF32) : Tensor();
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t to = place[owner(e)]++;
    packed.data<std::int32_t>()[2 * to] = row[e], packed.data<std::int32_t>()[2 * to + 1] = col[e];
    if (weight.defined()) weight.data<float>()[to] = edges.weight.data<float>()[e];
  }
  const std::vector<std::int64_t> all = ranks.all_gather(Tensor::from(sent)).to_vector<std::int64_t>();
  for (std::size_t r = 0; r < size; ++r) received[r] = all[r * size + static_cast<std::size_t>(ranks.rank())];
  const Tensor got = ranks.all_to_all(packed, sent, received);
  Edges out{Tensor::empty({got.dim(0)}, DType::kI32), Tensor::empty({got.dim(0)}, DType::kI32), {}};
  for (std::int64_t e = 0; e < got.dim(0); ++e) {
    out.row.data<std::int32_t>()[e] = got.data<std::int32_t>()[2 * e];
    out.col.data<std::int32_t>()[e] = got.data<std::int32_t>()[2 * e + 1];
  }
  if (weight.defined()) out.weight = ranks.all_to_all(weight, sent, received);
  return out;
}

/// The rows of the rank as edges, numbered over all nodes.
Edges edges_of(const EdgeShard& shard) {
  const Tensor row = edge_rows(Adjacency::trusted(shard.rows));
  const auto first = static_cast<std::int32_t>(shard.nodes->first_row());
  for (std::int64_t e = 0; e < row.numel(); ++e) row.data<std::int32_t>()[e] += first;
  return {row, shard.rows.col, {}};
}

/// Whether every edge has its reverse as often as itself.
bool is_symmetric(const Edges& edges, const Communicator& ranks) {
  std::uint64_t sum[4] = {};
  const auto *row = edges.row.data<std::int32_t>(), *col = edges.col.data<std::int32_t>();
  for (std::int64_t e = 0; e < edges.row.numel(); ++e) {
    const auto i = static_cast<std::uint64_t>(row[e]), j = static_cast<std::uint64_t>(col[e]);
    sum[0] += mix(i, j), sum[1] += mix(j, i);
    sum[2] += mix(mix(i, 1), mix(j, 2)), sum[3] += mix(mix(j, 1), mix(i, 2));
  }
  std::vector<std::int64_t> own;
  for (const std::uint64_t value : sum) own.push_back(static_cast<std::int64_t>(value));
  const std::vector<std::int64_t> all = ranks.all_gather(Tensor::from(own)).to_vector<std::int64_t>();
  std::uint64_t total[4] = {};
  for (std::size_t i = 0; i < all.size(); ++i) total[i % 4] += static_cast<std::uint64_t>(all[i]);
  return total[0] == total[1] && total[2] == total[3];
}

/// count_one_way_edges() over ranks: asks the rank that has the reverse of an edge.
std::int64_t one_way_edges(const EdgeShard& shard, const Edges& edges) {
  const Edges asked = send_to_owners(*shard.nodes, {edges.col, edges.row, {}});
  const auto* row_ptr = shard.rows.row_ptr.data<std::int64_t>();
  const auto* col = shard.rows.col.data<std::int32_t>();
  std::int64_t missing = 0;
  for (std::int64_t e = 0; e < asked.row.numel(); ++e) {
    const std::int32_t row = asked.row.data<std::int32_t>()[e], from = asked.col.data<std::int32_t>()[e];
    const std::int64_t own = row - shard.nodes->first_row();
    missing += row != from && !std::binary_search(col + row_ptr[own], col + row_ptr[own + 1], from);
  }
  return sums(shard.nodes->ranks(), {missing})[0];
}

}  // namespace

EdgeShard shard_edges(EdgePart part, std::int64_t nodes, bool undirected, std::int64_t dense_features,
                      const Communicator& ranks) {
  EdgeShard shard;
  shard.nodes = partition_nodes(row_pointers(part, nodes, undirected, ranks), dense_features, ranks);
  Edges own = send_to_owners(*shard.nodes, {part.dst, part.src, part.weight});
  if (undirected) {  // after all edges of the file, of which equal ones take precedence
    const Edges mirrored = send_to_owners(*shard.nodes, {part.src, part.dst, part.weight});
    const auto append = [](Tensor& x, const Tensor& more) { x = concat_rows(std::vector{x, more}); };
    append(own.row, mirrored.row), append(own.col, mirrored.col);
    if (own.weight.defined()) append(own.weight, mirrored.weight);
  }
  part = {};
  const auto first = static_cast<std::int32_t>(shard.nodes->first_row());
  for (std::int64_t e = 0; e < own.row.numel(); ++e) own.row.data<std::int32_t>()[e] -= first;
  const CooResult sorted = coo_to_csr(own.row, own.col, shard.nodes->num_rows(), nodes,
                                      {.drop_duplicates = undirected, .edge_ids = own.weight.defined()});
  shard.rows = sorted.adj.csr();
  if (own.weight.defined()) shard.weight = take(own.weight, sorted.edge_ids);
  own = {};
  const Edges edges = edges_of(shard);
  shard.num_edges = sums(ranks, {edges.row.numel()})[0];
  shard.symmetric = is_symmetric(edges, ranks);
  if (!shard.symmetric) shard.one_way_edges = one_way_edges(shard, edges);
  return shard;
}

EdgeShard with_self_loops(const EdgeShard& shard) {
  const auto* row_ptr = shard.rows.row_ptr.data<std::int64_t>();
  const auto* col = shard.rows.col.data<std::int32_t>();
  const float* weight = shard.weight.defined() ? shard.weight.data<float>() : nullptr;
  const std::int64_t own = shard.rows.rows;
  const auto node = [&](std::int64_t row) {
    return static_cast<std::int32_t>(shard.nodes->first_row() + row);
  };
  const auto has_loop = [&](std::int64_t row) {
    return std::binary_search(col + row_ptr[row], col + row_ptr[row + 1], node(row));
  };
  EdgeShard out = shard;
  out.rows.row_ptr = Tensor::zeros({own + 1}, DType::kI64);
  auto* looped_ptr = out.rows.row_ptr.data<std::int64_t>();
  for (std::int64_t row = 0; row < own; ++row)
    looped_ptr[row + 1] = looped_ptr[row] + row_ptr[row + 1] - row_ptr[row] + (has_loop(row) ? 0 : 1);
  out.rows.col = Tensor::empty({looped_ptr[own]}, DType::kI32);
  if (weight) out.weight = Tensor::empty({looped_ptr[own]}, DType::kF32);
  for (std::int64_t row = 0; row < own; ++row) {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
    const bool adds = looped_ptr[row + 1] - looped_ptr[row] > end - begin;
    const std::int64_t loop = adds ? std::lower_bound(col + begin, col + end, node(row)) - col : end;
    std::int64_t to = looped_ptr[row];
    const auto put = [&](std::int32_t value, float w) {
      if (weight) out.weight.data<float>()[to] = w;
      out.rows.col.data<std::int32_t>()[to++] = value;
    };
    for (std::int64_t e = begin; e < end; ++e) {
      if (adds && e == loop) put(node(row), 1);
      put(col[e], weight ? weight[e] : 1);
    }
    if (adds && loop == end) put(node(row), 1);
  }
  return out;
}

}  // namespace rodeo
