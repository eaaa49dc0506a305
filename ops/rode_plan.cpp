#include "ops/rode_plan.h"

#include <ostream>

#include "ops/kernels.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const RodePlan& plan) {
  return out << plan.num_pieces() << " pieces, " << plan.num_split_rows() << " split rows, "
             << plan.num_residual() << " residual rows";
}

const RodePlan& rode_plan(const Adjacency& adj) {
  return adj.cached<RodePlan>([&] { return kernels::rode_plan.on(adj.device())(adj.csr()); });
}

}  // namespace rodeo
