/// Sums over the threads of a block in a fixed order.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

/// The sum of `value` over a block of kThreads threads, a power of two, by a tree in shared memory. All
/// threads of the block call it; only thread 0 has the sum.
template <int kThreads, class Sum>
__device__ Sum block_sum(Sum value) {
  static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves");
  __shared__ Sum shared[kThreads];
  __syncthreads();  // after the reads of an earlier call
  shared[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] = shared[threadIdx.x] + shared[threadIdx.x + half];
  }
  return threadIdx.x == 0 ? shared[0] : Sum{};
}

}  // namespace rodeo::kernels::cuda
