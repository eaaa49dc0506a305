#include "train/task/edge_shard.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/over_ranks.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense_csr.h"
#include "ops/graph_hash.h"
#include "ops/id_ranges.h"
#include "train/task/rank_shard.h"

namespace rodeo {
namespace {

constexpr std::int64_t kSerial = 1 << 15;  // loops this short run in one thread

/// Edges by row, dst, and column, src, on `device`; equal ones keep their order.
WeightedAdjacency sort_edges(const EdgePart& edges, std::int64_t nodes, Device device,
                             bool drop_duplicates = false) {
  const bool weighted = edges.weight.defined();
  const CooResult sorted = coo_to_csr(edges.dst.to(device), edges.src.to(device), nodes, nodes,
                                      {.drop_duplicates = drop_duplicates, .edge_ids = weighted});
  return {sorted.adj, weighted ? take(edges.weight.to(device), sorted.edge_ids) : Tensor()};
}

std::vector<std::int64_t> row_pointers(const WeightedAdjacency& edges) {
  return edges.adj.csr().row_ptr.to_vector<std::int64_t>();
}

/// Sends each edge to the rank that has its row, and returns those of the rank's rows in the order of their
/// senders, and for each sender in its order, on the device of `edges`. Rows are numbered over all nodes.
EdgePart send_to_owners(const NodePartition& nodes, const WeightedAdjacency& edges) {
  const Communicator& ranks = nodes.ranks();
  const std::vector<std::int64_t> row_ptr = row_pointers(edges);
  std::vector<std::int64_t> sent;
  std::int64_t first = 0;
  for (const std::int64_t rows : nodes.rows()) {
    sent.push_back(row_ptr[first + rows] - row_ptr[first]);
    first += rows;
  }
  const std::vector<std::int64_t> received = ranks.all_to_all(Tensor::from(sent)).to_vector<std::int64_t>();
  const auto exchange = [&](const Tensor& x) {
    return x.defined() ? ranks.all_to_all(x, sent, received) : x;
  };
  return {exchange(edges.adj.csr().col), exchange(edge_rows(edges.adj)), exchange(edges.weight)};
}

/// Whether every edge has its reverse as often as itself.
bool is_symmetric(const EdgeShard& shard, const Communicator& ranks) {
  std::uint64_t a = 0, b = 0;  // then 0 over all ranks; sums wrap around
  const auto* row_ptr = shard.rows.row_ptr.data<std::int64_t>();
  const auto* col = shard.rows.col.data<std::int32_t>();
  const bool many = shard.rows.col.numel() > kSerial;
#pragma omp parallel for schedule(dynamic, 256) reduction(+ : a, b) if (many)
  for (std::int64_t row = 0; row < shard.rows.rows; ++row) {
    const auto i = static_cast<std::uint64_t>(shard.nodes->first_row() + row);
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e) {
      const auto j = static_cast<std::uint64_t>(col[e]);
      a += mix(i, j) - mix(j, i);
      b += mix(mix(i, 1), mix(j, 2)) - mix(mix(j, 1), mix(i, 2));
    }
  }
  const std::vector own{static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)};
  return over_ranks(ranks, own) == std::vector<std::int64_t>{0, 0};
}

/// count_one_way_edges() over ranks: asks the rank that has the reverse of an edge.
std::int64_t one_way_edges(const EdgeShard& shard, Device device) {
  const Tensor target = edge_rows(Adjacency::trusted(shard.rows));  // numbered over the rank's rows
  number_ids(target, shard.nodes->first_row(), 1, target);          // over all
  const WeightedAdjacency reversed =
      sort_edges({target, shard.rows.col, {}}, shard.nodes->num_nodes(), device);
  const EdgePart asked = send_to_owners(*shard.nodes, reversed);
  const Tensor rows = asked.dst.to(kCpu), from = asked.src.to(kCpu);
  const auto* row_ptr = shard.rows.row_ptr.data<std::int64_t>();
  const auto* col = shard.rows.col.data<std::int32_t>();
  std::int64_t missing = 0;
#pragma omp parallel for reduction(+ : missing) if (rows.numel() > kSerial)
  for (std::int64_t e = 0; e < rows.numel(); ++e) {
    const std::int32_t row = rows.data<std::int32_t>()[e], sender = from.data<std::int32_t>()[e];
    const std::int64_t own = row - shard.nodes->first_row();
    missing += row != sender && !std::binary_search(col + row_ptr[own], col + row_ptr[own + 1], sender);
  }
  return over_ranks(shard.nodes->ranks(), std::vector{missing})[0];
}

}  // namespace

EdgeShard shard_edges(EdgePart part, std::int64_t nodes, bool undirected, std::int64_t dense_features,
                      const Communicator& ranks, Device device) {
  EdgeShard shard;
  std::vector<WeightedAdjacency> parts{sort_edges(part, nodes, device)};
  // After all edges of the file, of which equal ones take precedence.
  if (undirected) parts.push_back(sort_edges({part.dst, part.src, part.weight}, nodes, device));
  part = {};
  const Tensor row_ptr = Tensor::from(row_pointers(parts[0]));
  if (undirected) {
    const std::vector<std::int64_t> mirrored = row_pointers(parts[1]);
    for (std::int64_t i = 0; i <= nodes; ++i) row_ptr.data<std::int64_t>()[i] += mirrored[i];
  }
  ranks.all_reduce(row_ptr);
  shard.nodes = partition_nodes(row_ptr.to_vector<std::int64_t>(), dense_features, ranks);
  EdgePart own;
  for (WeightedAdjacency& sorted : parts) {
    const EdgePart more = send_to_owners(*shard.nodes, sorted);
    sorted = {};
    const auto append = [](Tensor& x, const Tensor& end) {
      x = x.defined() ? concat_rows(std::vector{x, end}) : end;
    };
    append(own.src, more.src), append(own.dst, more.dst);
    if (more.weight.defined()) append(own.weight, more.weight);
  }
  const WeightedAdjacency sorted = sort_edges(own, nodes, device, /*drop_duplicates=*/undirected);
  const Csr& all = sorted.adj.csr();  // of which other ranks' rows are empty
  const std::int64_t first = shard.nodes->first_row(), rows = shard.nodes->num_rows();
  shard.rows = {rows, nodes, all.row_ptr.slice(first, first + rows + 1).to(kCpu).clone(), all.col.to(kCpu)};
  if (sorted.weight.defined()) shard.weight = sorted.weight.to(kCpu);
  own = {};
  shard.num_edges = over_ranks(ranks, std::vector{shard.rows.col.numel()})[0];
  shard.symmetric = is_symmetric(shard, ranks);
  if (!shard.symmetric) shard.one_way_edges = one_way_edges(shard, device);
  return shard;
}

EdgeShard with_self_loops(const EdgeShard& shard) {
  const CooResult looped = add_self_loops(Adjacency::trusted(shard.rows), shard.nodes->first_row());
  EdgeShard out = shard;
  out.rows = looped.adj.csr();
  if (shard.weight.defined()) out.weight = take(shard.weight, looped.edge_ids, 1);
  return out;
}

}  // namespace rodeo
