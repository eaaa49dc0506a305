#include "ops/sparse/row_order.h"

#include <optional>
#include <vector>

#include "core/cuda_graph.h"
#include "core/error.h"
#include "core/node_partition.h"
#include "core/over_ranks.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/derived.h"

namespace rodeo {

namespace {

struct CachedLocality {
  mutable std::optional<RowLocality> value;
  mutable bool assumed = false;
};
const CachedLocality& cached_locality(const Adjacency& adj) {
  return adj.cached<CachedLocality>([] { return CachedLocality(); });
}

}  // namespace

void assume_no_locality(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  cached_locality(adj).value = RowLocality{};
  cached_locality(adj).assumed = true;
}

bool assumes_no_locality(const Adjacency& adj) {
  return adj.has_cached<CachedLocality>() && cached_locality(adj).assumed;
}

RowLocality row_locality(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  auto& kept = cached_locality(adj).value;
  if (kept) return *kept;
  if (adj.rows() == 0 || is_capturing(adj.device())) return {};
  kept = kernels::row_locality.on(adj.device())(adj.csr(), {}, RowLocality::kNeighbours);
  return *kept;
}

Tensor cluster_rows(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[cluster_rows] the matrix must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Tensor cluster = Tensor::empty({adj.rows()}, DType::kU8, adj.device());
  if (adj.rows() > 0) kernels::cluster_rows.on(adj.device())(adj.csr(), nullptr, cluster);
  return cluster;
}

const RowOrder& row_order(const Adjacency& adj) {
  return adj.cached<RowOrder>([&] {
    const bool is_large = RowClusters::should_use(adj.rows(), adj.cols(), adj.num_edges());
    if (!is_large && !RowClusters::has_long_rows(adj.rows(), adj.cols(), adj.num_edges())) return RowOrder{};
    if (row_locality(adj).is_local()) return RowOrder{.keeps_file = is_large};
    const Tensor cluster = cluster_rows(adj);
    const auto locality = [&](const Tensor& order) {
      return kernels::row_locality.on(adj.device())(adj.csr(), order, RowLocality::kOrder);
    };
    return RowOrder{.cluster = RowClusters::improves(locality({}), locality(cluster)) ? cluster : Tensor()};
  });
}

const Tensor& row_clusters(const Adjacency& adj) {
  return row_order(adj).cluster;
}

namespace {

// The order of a rank's rows is decided on the edges of all ranks, so that each decides the same.
std::vector<std::int64_t> sum_over_ranks(const ShardedRows& shard, const std::vector<std::int64_t>& own) {
  return over_ranks(shard.nodes->ranks(), own, Reduction::kSum, shard.rows.device());
}

RowLocality locality_of(const ShardedRows& shard, const Tensor& cluster, const RowLocality::Window& window) {
  RowLocality own;
  if (shard.rows.rows() > 0)
    own = kernels::row_locality.on(shard.rows.device())(shard.rows.csr(), cluster, window);
  const auto all = sum_over_ranks(shard, {own.sampled, own.distinct});
  return {all[0], all[1]};
}

RowOrder find_order(const ShardedRows& shard) {
  const std::int64_t nodes = shard.nodes->num_nodes();
  if (!RowClusters::should_use(nodes, nodes, sum_over_ranks(shard, {shard.rows.num_edges()})[0])) return {};
  if (locality_of(shard, {}, RowLocality::kNeighbours).is_local()) return {.keeps_file = true};
  const Tensor all = Tensor::empty({nodes}, DType::kU8, shard.rows.device());
  kernels::cluster_rows.on(all.device())(shard.rows.csr(), shard.nodes.get(), all);
  const std::int64_t first = shard.nodes->first_row();
  const Tensor own = all.slice(first, first + shard.nodes->num_rows()).clone();
  if (!RowClusters::improves(locality_of(shard, {}, RowLocality::kOrder),
                             locality_of(shard, own, RowLocality::kOrder)))
    return {};
  return {.cluster = own, .column_cluster = all};
}

}  // namespace

void order_shard(const ShardedRows& shard) {
  if (shard.nodes->num_nodes() == 0) return;
  const RowOrder order = find_order(shard);
  shard.rows.cached<RowOrder>([&] { return order; });
}

void order_transpose(const Adjacency& rows, const Adjacency& transposed) {
  if (cached_locality(rows).assumed) assume_no_locality(transposed);
  if (rows.rows() == rows.cols() || !rows.has_cached<RowOrder>()) return;
  const RowOrder& order = row_order(rows);
  if (order.column_cluster.defined())
    transposed.cached<RowOrder>([&] { return RowOrder{.cluster = order.column_cluster}; });
}

}  // namespace rodeo
