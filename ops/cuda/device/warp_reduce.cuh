/// Reductions over groups of lanes with any combination.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// The combination of `value` over groups of kLanes neighbouring lanes, in each of them. All lanes of the
/// warp call it.
template <int kLanes, class V, class F>
__device__ V reduce_lanes(V value, F combine) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(kFullMask, value, offset));
  return value;
}

}  // namespace rodeo::kernels::cuda
