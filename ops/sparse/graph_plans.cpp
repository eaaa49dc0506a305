#include "ops/sparse/graph_plans.h"

#include "core/cuda_graph.h"
#include "core/error.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"

namespace rodeo {

RodePlan make_rode_plan(const Adjacency& adj, const Tensor& cluster, std::int64_t split) {
  if (cluster.defined())
    check(cluster.dtype() == DType::kU8 && cluster.shape() == Shape{adj.rows()} &&
              cluster.device() == adj.device(),
          "[rode_plan] cluster must be u8 [", adj.rows(), "] on ", adj.device());
  if (split == 0) split = RodePlan::default_split(adj.num_edges());
  constexpr std::int64_t kTeam = RodePlan::kTeamSplit, kShort = RodePlan::kShortSplit,
                         kUsual = RodePlan::kSplit, kLong = RodePlan::kLongSplit;
  check(split == kTeam || split == kShort || split == kUsual || split == kLong, "[rode_plan] split must be ",
        kShort, ", ", kTeam, ", ", kUsual, " or ", kLong, ", got ", split);
  return kernels::rode_plan.on(adj.device())(adj.csr(), cluster, split);
}

const RodePlan& rode_plan(const Adjacency& adj) {
  return adj.cached<RodePlan>([&] { return make_rode_plan(adj, row_clusters(adj)); });
}

Tensor cluster_rows(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[cluster_rows] the matrix must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Tensor cluster = Tensor::empty({adj.rows()}, DType::kU8, adj.device());
  if (adj.rows() > 0) kernels::cluster_rows.on(adj.device())(adj.csr(), cluster);
  return cluster;
}

const Tensor& row_clusters(const Adjacency& adj) {
  struct CachedClusters {
    Tensor cluster;
  };
  return adj
      .cached<CachedClusters>([&] {
        const bool clustered = RowClusters::should_use(adj.rows(), adj.cols(), adj.num_edges());
        return CachedClusters{clustered ? cluster_rows(adj) : Tensor()};
      })
      .cluster;
}

const RowLengths& row_lengths(const Adjacency& adj) {
  return adj.cached<RowLengths>([&] {
    const std::int64_t rows = adj.rows();
    if (rows == 0) return RowLengths{};
    return RowLengths{rows, kernels::longest_row.on(adj.device())(adj.csr()),
                      static_cast<double>(adj.num_edges()) / static_cast<double>(rows)};
  });
}

const Tensor& cached_edge_rows(const Adjacency& adj) {
  struct CachedRows {
    Tensor row;
  };
  return adj
      .cached<CachedRows>([&] {
        // Inside a capture the array would belong to the CUDA graph and be filled at its first launch only.
        check(!is_capturing(adj.device()),
              "[edge_rows] the row of every edge cannot be computed during CUDA graph capture: run the work "
              "once before capturing");
        return CachedRows{edge_rows(adj)};
      })
      .row;
}

}  // namespace rodeo
