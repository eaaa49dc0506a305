#include "core/cuda/elementwise.h"

#include <bit>
#include <cstdint>

#include "core/cuda/map.cuh"
#include "core/cuda/presence.h"

namespace rodeo::cuda {
namespace {

constexpr int kThreads = 256;

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
