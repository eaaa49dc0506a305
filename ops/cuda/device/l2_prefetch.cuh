/// Asking for operands before it is known which of their rows are needed.
#pragma once

#include <cstdint>

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Starts a read of the 128-byte line of `at` from DRAM into L2.
__device__ __forceinline__ void prefetch_l2(const void* at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/// Two operands that a kernel asks for from DRAM as soon as it runs, 128 bytes a thread, so that its chain of
/// loads does not wait for DRAM at every step. Does nothing where there are more of these lines than threads:
/// a large launch hides the latency anyway, and need not read all of its operands.
class L2Prefetch {
 public:
  L2Prefetch(const void* first, std::int64_t first_bytes, const void* second, std::int64_t second_bytes,
             std::int64_t threads)
      : at_{static_cast<const char*>(first), static_cast<const char*>(second)} {
    const std::int64_t of_first = ceil_div(first_bytes, kLine), of_second = ceil_div(second_bytes, kLine);
    if (of_first + of_second > threads) return;
    lines_[0] = static_cast<std::uint32_t>(of_first), lines_[1] = static_cast<std::uint32_t>(of_second);
  }

  /// Called by every thread of a grid of blocks (x, y) of `threads` threads.
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
