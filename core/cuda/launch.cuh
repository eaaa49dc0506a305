/// Kernel launches, and the device types of tensor elements.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "core/context.h"
#include "core/cuda/check.h"
#include "core/dtype.h"

namespace rodeo::cuda {

constexpr int kWarp = 32;
constexpr unsigned kFullMask = 0xffffffffu;

/// The device type of a host element type.
template <class T>
struct DeviceType {
  using type = T;
};
template <>
struct DeviceType<BFloat16> {
  using type = __nv_bfloat16;
};
template <>
struct DeviceType<Float16> {
  using type = __half;
};
template <class T>
using device_t = typename DeviceType<T>::type;

template <class T>
constexpr std::int64_t ceil_div(std::int64_t a, T b) {
  return (a + b - 1) / b;
}

/// Launches a kernel on the thread's stream. Throws Error with the kernel's name if the launch fails. Does
/// nothing for an empty grid.
template <class... Parameters, class... Arguments>
void launch(const char* name, Device device, void (*kernel)(Parameters...), dim3 grid, dim3 block,
            std::size_t shared, Arguments&&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  kernel<<<grid, block, shared, Context::of(device).stream()>>>(static_cast<Arguments&&>(arguments)...);
  check_cuda(cudaGetLastError(), name);
}

/// A grid of blocks of `threads` threads for n elements, capped: use it with RODEO_GRID_STRIDE.
inline dim3 grid_for(std::int64_t n, int threads) {
  const std::int64_t blocks = ceil_div(n, threads);
  return dim3(static_cast<unsigned>(blocks < 65536 ? blocks : 65536));
}

/// a / b for non-negative a and b. 32-bit division if possible, because the 64-bit one takes about a hundred
/// instructions.
__device__ __forceinline__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return (a | b) >> 32 ? a / b : static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

/// A grid-stride loop over [0, n) with a 64-bit index.
#define RODEO_GRID_STRIDE(i, n)                                                                    \
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)

}  // namespace rodeo::cuda
