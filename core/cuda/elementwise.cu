#include "core/cuda/elementwise.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/cuda/launch.cuh"
#include "core/cuda/presence.h"

namespace rodeo::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__device__ auto widen(T value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>)
    return static_cast<float>(value);
  else
    return value;
}

template <class To, class From>
__device__ To convert(From value) {
  // 64-bit sources go to 16-bit floats through float, as on the host.
  if constexpr (std::is_same_v<To, __nv_bfloat16> || std::is_same_v<To, __half>)
    return To(static_cast<float>(widen(value)));
  else
    return static_cast<To>(widen(value));
}

// One thread per element, grid-stride.
template <class T>
__global__ void fill_kernel(T* out, std::int64_t n, T value) {
  RODEO_GRID_STRIDE(i, n) out[i] = value;
}

/// kVec elements, loaded and stored as one vector.
template <class T, int kVec>
struct alignas(sizeof(T) * kVec) Vector {
  T value[kVec];
};

// One thread for each kVec elements, and for each of the n % kVec last ones, grid-stride.
template <int kVec, class To, class F, class... From>
__global__ void map_kernel(F f, std::int64_t n, To* out, const From*... in) {
  const std::int64_t vectors = n / kVec;
  RODEO_GRID_STRIDE(i, vectors + n % kVec) {
    if (i >= vectors) {
      const std::int64_t at = vectors * kVec + i - vectors;
      out[at] = f(in[at]...);
      continue;
    }
    const auto map = [&](const Vector<From, kVec>... own) {
      Vector<To, kVec> result;
#pragma unroll
      for (int v = 0; v < kVec; ++v) result.value[v] = f(own.value[v]...);
      reinterpret_cast<Vector<To, kVec>*>(out)[i] = result;
    };
    map(reinterpret_cast<const Vector<From, kVec>*>(in)[i]...);
  }
}

template <class T>
bool is_aligned(const T* data, int vec) {
  return reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * static_cast<std::size_t>(vec)) == 0;
}

template <class To, class F, class... From>
void launch_map(const char* name, const Tensor& result, const F& f, To* out, const From*... in) {
  constexpr int kVec = 16 / static_cast<int>(std::max({sizeof(To), sizeof(From)...}));
  const std::int64_t n = result.numel();
  if (is_aligned(out, kVec) && (is_aligned(in, kVec) && ...))
    return launch(name, result.device(), map_kernel<kVec, To, F, From...>,
                  grid_for(ceil_div(n, kVec), kThreads), kThreads, 0, f, n, out, in...);
  launch(name, result.device(), map_kernel<1, To, F, From...>, grid_for(n, kThreads), kThreads, 0, f, n, out,
         in...);
}

template <class To>
struct Convert {
  template <class From>
  __device__ To operator()(From x) const {
    return convert<To>(x);
  }
};
template <class T>
struct Sum {
  __device__ T operator()(T a, T b) const { return convert<T>(widen(a) + widen(b)); }
};

template <class T>
auto* pointer(const Tensor& tensor) {
  return reinterpret_cast<device_t<T>*>(tensor.data<T>());
}

}  // namespace

int load_a_kernel() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, fill_kernel<float>);
}

void fill(const Tensor& out, double value) {
  dispatch_all(out.dtype(), [&]<class T>(T) {
    if constexpr (sizeof(T) == 2) {
      const T host(static_cast<float>(value));
      launch("fill", out.device(), fill_kernel<device_t<T>>, grid_for(out.numel(), kThreads), kThreads, 0,
             pointer<T>(out), out.numel(), std::bit_cast<device_t<T>>(host));
    } else {
      launch("fill", out.device(), fill_kernel<T>, grid_for(out.numel(), kThreads), kThreads, 0,
             pointer<T>(out), out.numel(), static_cast<T>(value));
    }
  });
}

void cast(const Tensor& x, const Tensor& out) {
  dispatch_all(x.dtype(), [&]<class From>(From) {
    dispatch_all(out.dtype(), [&]<class To>(To) {
      launch_map("cast", out, Convert<device_t<To>>{}, pointer<To>(out), pointer<From>(x));
    });
  });
}

void add(const Tensor& a, const Tensor& b, const Tensor& out) {
  dispatch_all(a.dtype(), [&]<class T>(T) {
    launch_map("add", out, Sum<device_t<T>>{}, pointer<T>(out), pointer<T>(a), pointer<T>(b));
  });
}

}  // namespace rodeo::cuda
