#include "ops/sparse/graph_plans.h"

#include <map>
#include <memory>

#include "core/cuda_graph.h"
#include "core/error.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"

namespace rodeo {

RodePlan make_rode_plan(const Adjacency& adj, const Tensor& cluster, const RodeOptions& options) {
  if (cluster.defined())
    check(cluster.dtype() == DType::kU8 && cluster.shape() == Shape{adj.rows()} &&
              cluster.device() == adj.device(),
          "[rode_plan] cluster must be u8 [", adj.rows(), "] on ", adj.device());
  return kernels::rode_plan.on(adj.device())(adj.csr(), cluster, RodePlan::resolve(options, adj.num_edges()));
}

const RodePlan& rode_plan(const Adjacency& adj, const RodeOptions& options) {
  const auto make = [&] {
    const RowOrder& order = row_order(adj);
    RodePlan plan = make_rode_plan(adj, order.cluster, options);
    plan.local_rows = order.keeps_file;
    plan.is_clustered = order.cluster.defined();
    return plan;
  };
  if (options == RodeOptions{}) return adj.cached<RodePlan>(make);
  struct OtherPlans {
    std::shared_ptr<std::map<RodeOptions, RodePlan>> of = std::make_shared<std::map<RodeOptions, RodePlan>>();
  };
  const auto lock = adj.lock_cache();
  auto& plans = *adj.cached<OtherPlans>([] { return OtherPlans(); }).of;
  const auto at = plans.find(options);
  return at != plans.end() ? at->second : plans.emplace(options, make()).first->second;
}

const RodePlan& rode_plan(const Adjacency& adj) {
  return rode_plan(adj, RodeOptions{});
}

const RowLengths& row_lengths(const Adjacency& adj) {
  return adj.cached<RowLengths>([&] {
    const std::int64_t rows = adj.rows();
    if (rows == 0) return RowLengths{};
    return RowLengths{rows, kernels::longest_row.on(adj.device())(adj.csr()),
                      static_cast<double>(adj.num_edges()) / static_cast<double>(rows)};
  });
}

namespace {

struct CachedRows {
  mutable Tensor row;
};

Tensor& edge_rows_slot(const Adjacency& adj) {
  return adj.cached<CachedRows>([] { return CachedRows(); }).row;
}

}  // namespace

const Tensor& cached_edge_rows(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  // Inside a capture the array would belong to the CUDA graph and be filled at its first launch only.
  check(has_cached_edge_rows(adj) || !is_capturing(adj.device()),
        "[edge_rows] the row of every edge cannot be computed during CUDA graph capture: run the work once "
        "before capturing");
  Tensor& row = edge_rows_slot(adj);
  if (!row.defined()) row = edge_rows(adj);
  return row;
}

bool has_cached_edge_rows(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  return adj.has_cached<CachedRows>() && edge_rows_slot(adj).defined();
}

void release_edge_rows(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  edge_rows_slot(adj) = Tensor();
}

}  // namespace rodeo
