/// Elementwise kernels: out[i] = f(in[i]...), with vector accesses where the arrays are aligned for them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/launch.cuh"
#include "core/tensor.h"

namespace rodeo::cuda {

/// kVec elements, loaded and stored as one vector.
template <class T, int kVec>
struct alignas(sizeof(T) * kVec) Pack {
  T value[kVec];
};

/// f32 for 16-bit elements, else the value itself.
template <class T>
__device__ __forceinline__ auto widen(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

template <int kVec, class F, class To, class... From>
__device__ __forceinline__ void map_pack(const F& f, Pack<To, kVec>& out, const Pack<From, kVec>... in) {
#pragma unroll
  for (int v = 0; v < kVec; ++v) out.value[v] = f(in.value[v]...);
}

/// Grid grid_for(vectors, threads): vectors of kVec elements, then the size % kVec last ones.
template <int kVec, class F, class To, class... From>
__global__ void map_kernel(F f, std::int64_t size, To* out, const From*... in) {
  const std::int64_t vectors = size / kVec, rest = size - vectors * kVec;
  RODEO_GRID_STRIDE(i, vectors) {
    Pack<To, kVec> result;
    map_pack(f, result, reinterpret_cast<const Pack<From, kVec>*>(in)[i]...);
    reinterpret_cast<Pack<To, kVec>*>(out)[i] = result;
  }
  RODEO_GRID_STRIDE(i, rest) {
    const std::int64_t at = vectors * kVec + i;
    out[at] = f(in[at]...);
  }
}

template <class T>
bool is_aligned(const T* data, int vec) {
  return reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * static_cast<std::size_t>(vec)) == 0;
}

/// Launches f on the elements of a result and of arrays of its size. `out` are the elements of `result`.
template <class F, class To, class... From>
void launch_map(const char* name, const Tensor& result, const F& f, To* out, const From*... in) {
  constexpr int kVec = 16 / static_cast<int>(std::max({sizeof(To), sizeof(From)...})), kThreads = 256;
  const std::int64_t n = result.numel();
  if (is_aligned(out, kVec) && (is_aligned(in, kVec) && ...))
    return launch(name, result.device(), map_kernel<kVec, F, To, From...>,
                  grid_for(ceil_div(n, kVec), kThreads), kThreads, 0, f, n, out, in...);
  launch(name, result.device(), map_kernel<1, F, To, From...>, grid_for(n, kThreads), kThreads, 0, f, n, out,
         in...);
}

}  // namespace rodeo::cuda
