#include "ops/plan/rode_plan.h"

#include <ostream>

#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const RodePlan& plan) {
  return out << plan.num_pieces() << " pieces, " << plan.num_split_rows() << " split rows, "
             << plan.num_residual() << " residual rows";
}

RodePlan make_rode_plan(const Adjacency& adj, const Tensor& cluster, std::int64_t split) {
  if (cluster.defined())
    check(cluster.dtype() == DType::kU8 && cluster.shape() == Shape{adj.rows()} &&
              cluster.device() == adj.device(),
          "[rode_plan] cluster must be u8 [", adj.rows(), "] on ", adj.device());
  if (split == 0) split = RodePlan::split_of(adj.num_edges());
  constexpr std::int64_t kTiny = RodePlan::kTinySplit, kShort = RodePlan::kShortSplit,
                         kUsual = RodePlan::kSplit, kLong = RodePlan::kLongSplit;
  check(split == kTiny || split == kShort || split == kUsual || split == kLong, "[rode_plan] split must be ",
        kShort, ", ", kTiny, ", ", kUsual, " or ", kLong, ", got ", split);
  return kernels::rode_plan.on(adj.device())(adj.csr(), cluster, split);
}

const RodePlan& rode_plan(const Adjacency& adj) {
  return adj.cached<RodePlan>([&] { return make_rode_plan(adj, row_clusters(adj)); });
}

}  // namespace rodeo
