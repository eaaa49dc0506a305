#include "core/cuda/elementwise.h"

#include <bit>

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

template <class From, class To>
__global__ void cast_kernel(const From* x, To* out, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) out[i] = convert<To>(x[i]);
}

template <class T>
__global__ void add_kernel(const T* a, const T* b, T* out, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) out[i] = convert<T>(widen(a[i]) + widen(b[i]));
}

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
      launch("cast", out.device(), cast_kernel<device_t<From>, device_t<To>>, grid_for(x.numel(), kThreads),
             kThreads, 0, pointer<From>(x), pointer<To>(out), x.numel());
    });
  });
}

void add(const Tensor& a, const Tensor& b, const Tensor& out) {
  dispatch_all(a.dtype(), [&]<class T>(T) {
    launch("add", a.device(), add_kernel<device_t<T>>, grid_for(a.numel(), kThreads), kThreads, 0,
           pointer<T>(a), pointer<T>(b), pointer<T>(out), a.numel());
  });
}

}  // namespace rodeo::cuda
