#include "ops/plan/rode_plan.h"

#include <ostream>

#include "core/error.h"

namespace rodeo {

RodeOptions RodePlan::resolve(RodeOptions options, std::int64_t edges) {
  const std::int64_t block = options.block;
  check(block == 8 || block == 16 || block == 32 || block == 64,
        "[rode_plan] block must be 8, 16, 32 or 64, got ", block);
  if (options.split == 0) options.split = default_split(edges);
  check(options.split > 0 && options.split <= kMaxSplit && options.split % block == 0,
        "[rode_plan] split must be a multiple of block = ", block, " of at most ", kMaxSplit, ", got ",
        options.split);
  return options;
}

std::ostream& operator<<(std::ostream& out, const RodePlan& plan) {
  return out << plan.num_pieces() << " pieces, " << plan.num_split_rows() << " split rows, "
             << plan.num_residual() << " residual rows";
}

}  // namespace rodeo
