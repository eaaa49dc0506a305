/// The arithmetic of all_reduce and reduce_scatter on CUDA.
#pragma once

#include <cstdint>

#include "core/communicator_types.h"
#include "core/device_type.h"
#include "core/dtype.h"

namespace rodeo::cuda {

/// The contributions of all ranks to `count` elements: those of this rank, and those of the others one after
/// the other, in the order of ranks.
struct RankParts {
  const void* own = nullptr;
  const void* others = nullptr;
  int rank = 0;
  int size = 1;
  std::int64_t stride = 0;  // elements from one of the others to the next
};

/// out[i] = ((x0[i] + x1[i]) + x2[i]) + ... for i < count, or the maximum: the bits of
/// comm::reduce_in_order(). `out` may be `own`.
void reduce_ranks(const RankParts& parts, void* out, std::int64_t count, DType dtype, Reduction reduction,
                  Device device);

}  // namespace rodeo::cuda
