/// L2 prefetch of operands whose rows are not yet known.
#pragma once

#include <cstdint>

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Starts a read of the 128-byte line of `at` from DRAM into L2.
__device__ __forceinline__ void prefetch_l2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// Prefetches two whole operands at the start of a kernel, 128 bytes a thread, so that a chain of dependent
/// loads does not wait for DRAM at every step. Does nothing if the operands have more lines than the grid has
/// threads: a large launch hides the latency anyway, and may not need all of its operands.
class L2Prefetch {
 public:
  L2Prefetch(const void* first, std::int64_t first_bytes, const void* second, std::int64_t second_bytes,
             std::int64_t threads)
      : at_{static_cast<const char*>(first), static_cast<const char*>(second)} {
    const std::int64_t of_first = ceil_div(first_bytes, kLine), of_second = ceil_div(second_bytes, kLine);
    if (of_first + of_second > threads) return;
    lines_[0] = static_cast<std::uint32_t>(of_first), lines_[1] = static_cast<std::uint32_t>(of_second);
  }

  /// Every thread of the grid (x, y) calls it; blocks have `threads` threads.
  __device__ void operator()(std::uint32_t threads) const {
    std::uint32_t line = (blockIdx.y * gridDim.x + blockIdx.x) * threads + threadIdx.x;
    const char* at = nullptr;
    if (line < lines_[0])
      at = at_[0] + line * std::uint64_t{kLine};
    else if ((line -= lines_[0]) < lines_[1])
      at = at_[1] + line * std::uint64_t{kLine};
    if (at) prefetch_l2(at);
  }

 private:
  static constexpr std::uint32_t kLine = 128;
  const char* at_[2];
  std::uint32_t lines_[2] = {0, 0};
};

}  // namespace rodeo::kernels::cuda
