/// Last-block-done: blocks or warps write partial results, and the last one to arrive combines them in a
/// fixed order. The result does not depend on which one is last.
///
/// `arrived` counts arrivals. It is 0 before the launch (Context::zeroed_counters) and 0 again after it.
/// Partial results of others are read with load_from_l2() or __ldcg().
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// True in all threads of the last of `blocks` blocks to arrive. All threads of the block call it, after a
/// barrier where threads other than thread (0, 0) have written partial results.
__device__ __forceinline__ bool is_last_block(int* arrived, unsigned blocks) {
  __shared__ bool last;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1) == static_cast<int>(blocks) - 1;
    if (last) *arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

/// True in all lanes of the last of `warps` warps to arrive. All lanes of the warp call it, after writing
/// their partial results.
__device__ __forceinline__ bool is_last_warp(int* arrived, int warps) {
  __threadfence();
  __syncwarp();
  int before = 0;
  if (threadIdx.x % kWarp == 0) {
    before = atomicAdd(arrived, 1);
    if (before == warps - 1) *arrived = 0;
  }
  if (__shfl_sync(kFullMask, before, 0) != warps - 1) return false;
  __threadfence();
  return true;
}

}  // namespace rodeo::kernels::cuda
