#include "core/cuda/presence.h"
#include "core/cuda/reduce_ranks.h"
#include "core/error.h"

namespace rodeo::cuda {

void reduce_ranks(const RankParts&, void*, std::int64_t, DType, Reduction, Device) {
  fail("[cuda] ", absence_reason());
}

}  // namespace rodeo::cuda
