#include "ops/tca_plan.h"

#include <ostream>

#include "ops/kernels.h"
#include "ops/row_clusters.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const TcaPlan& plan) {
  const auto size = [&](int group) { return plan.group_begin[group + 1] - plan.group_begin[group]; };
  return out << size(0) << " pieces, " << plan.num_split_rows()
             << " split rows; rows of up to 64, 32, 16, 8 nonzeros: " << size(1) << ", " << size(2) << ", "
             << size(3) << ", " << size(4);
}

TcaPlan make_tca_plan(const Adjacency& adj, const Tensor& cluster) {
  return kernels::tca_plan.on(adj.device())(adj.csr(),
                                            cluster.defined() ? order_of_clusters(cluster) : Tensor());
}

const TcaPlan& tca_plan(const Adjacency& adj) {
  return adj.cached<TcaPlan>([&] { return make_tca_plan(adj, row_clusters(adj)); });
}

}  // namespace rodeo
