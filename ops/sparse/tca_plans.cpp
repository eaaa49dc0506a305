#include "ops/sparse/tca_plans.h"

#include <map>
#include <memory>

#include "core/cuda_graph.h"
#include "core/error.h"
#include "ops/kernels/sparse.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo {

TcaPlan make_tca_plan(const Adjacency& adj, const Tensor& cluster, std::int64_t tiles) {
  if (cluster.defined())
    check(cluster.dtype() == DType::kU8 && cluster.shape() == Shape{adj.rows()} &&
              cluster.device() == adj.device(),
          "[tca_plan] cluster must be u8 [", adj.rows(), "] on ", adj.device());
  check(tiles >= 1, "[tca_plan] tiles must be at least 1, got ", tiles);
  return kernels::tca_plan.on(adj.device())(adj.csr(), cluster, tiles);
}

const TcaPlan& tca_plan(const Adjacency& adj, std::int64_t tiles) {
  struct Plans {
    std::shared_ptr<std::map<std::int64_t, TcaPlan>> of_tiles =
        std::make_shared<std::map<std::int64_t, TcaPlan>>();
  };
  const auto lock = adj.lock_cache();
  auto& plans = *adj.cached<Plans>([] { return Plans(); }).of_tiles;
  const auto at = plans.find(tiles);
  if (at != plans.end()) return at->second;
  check(!is_capturing(adj.device()),
        "[spmm] the plan of tca cannot be made during CUDA graph capture: run the product once before "
        "capturing");
  if (adj.num_edges() > TcaPlan::kMaxLength)
    check(row_lengths(adj).longest <= TcaPlan::kMaxLength, "[spmm] tca takes rows of at most ",
          TcaPlan::kMaxLength, " nonzeros, got ", row_lengths(adj).longest, ": choose rode");
  return plans.emplace(tiles, make_tca_plan(adj, row_clusters(adj), tiles)).first->second;
}

}  // namespace rodeo
