#include "ops/tca_plan.h"

#include <ostream>

#include "ops/kernels.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const TcaPlan& plan) {
  const auto size = [&](int group) { return plan.group_begin[group + 1] - plan.group_begin[group]; };
  return out << size(0) << " pieces, " << plan.num_split_rows()
             << " split rows; rows of up to 64, 32, 16, 8 nonzeros: " << size(1) << ", " << size(2) << ", "
             << size(3) << ", " << size(4);
}

const TcaPlan& tca_plan(const Adjacency& adj) {
  return adj.cached<TcaPlan>([&] { return kernels::tca_plan.on(adj.device())(adj.csr()); });
}

}  // namespace rodeo
