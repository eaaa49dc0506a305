/// Warp reductions.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::cuda {

/// The sum over groups of `lanes` adjacent lanes (a power of two); every lane gets it. All lanes of the warp
/// must call it.
template <class Sum>
__device__ __forceinline__ Sum sum_over(Sum value, int lanes = kWarp) {
  for (int offset = lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kFullMask, value, offset);
  return value;
}

}  // namespace rodeo::cuda
