#include "ops/rode_plan.h"

#include <ostream>

#include "ops/kernels.h"
#include "ops/row_clusters.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const RodePlan& plan) {
  return out << plan.num_pieces() << " pieces, " << plan.num_split_rows() << " split rows, "
             << plan.num_residual() << " residual rows";
}

RodePlan make_rode_plan(const Adjacency& adj, const Tensor& cluster) {
  if (cluster.defined())
    check(cluster.dtype() == DType::kU8 && cluster.shape() == Shape{adj.rows()} &&
              cluster.device() == adj.device(),
          "[rode_plan] cluster must be u8 [", adj.rows(), "] on ", adj.device());
  return kernels::rode_plan.on(adj.device())(adj.csr(), cluster);
}

const RodePlan& rode_plan(const Adjacency& adj) {
  return adj.cached<RodePlan>([&] {
    const bool clustered = RowClusters::pays(adj.rows(), adj.cols(), adj.num_edges());
    return make_rode_plan(adj, clustered ? cluster_rows(adj) : Tensor());
  });
}

}  // namespace rodeo
