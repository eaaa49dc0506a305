// Elementwise activations and their gradients. One thread per element, grid-stride.
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class S>
struct LeakyRelu {
  S slope;
  __device__ S operator()(S x) const { return x > 0 ? x : slope * x; }
};
template <class S>
struct LeakyReluBackward {
  S slope;
  __device__ S operator()(S y, S dy) const { return y > 0 ? dy : slope * dy; }
};
template <class S>
struct Elu {
  __device__ S operator()(S x) const { return x > 0 ? x : expm1(x); }
};
template <class S>
struct EluBackward {
  __device__ S operator()(S y, S dy) const { return y > 0 ? dy : (y + 1) * dy; }
};

// Grid grid_for(size, kThreads), block kThreads.
template <class T, class F>
__global__ void map_kernel(const T* a, T* out, std::int64_t size, F f) {
  RODEO_GRID_STRIDE(i, size) out[i] = static_cast<T>(f(widen(a[i])));
}
template <class T, class F>
__global__ void map_kernel(const T* a, const T* b, T* out, std::int64_t size, F f) {
  RODEO_GRID_STRIDE(i, size) out[i] = static_cast<T>(f(widen(a[i]), widen(b[i])));
}

template <class T, class F>
void map(const char* name, const Tensor& a, const Tensor& out, const F& f) {
  void (*kernel)(const T*, T*, std::int64_t, F) = map_kernel<T, F>;
  launch(name, out.device(), kernel, grid_for(out.numel(), kThreads), kThreads, 0, device_data<T>(a),
         device_data<T>(out), out.numel(), f);
}
template <class T, class F>
void map(const char* name, const Tensor& a, const Tensor& b, const Tensor& out, const F& f) {
  void (*kernel)(const T*, const T*, T*, std::int64_t, F) = map_kernel<T, F>;
  launch(name, out.device(), kernel, grid_for(out.numel(), kThreads), kThreads, 0, device_data<T>(a),
         device_data<T>(b), device_data<T>(out), out.numel(), f);
}

}  // namespace

void leaky_relu(const Tensor& x, double slope, const Tensor& y) {
  dispatch_float(x.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu", x, y, LeakyRelu<S>{static_cast<S>(slope)});
  });
}

void leaky_relu_backward(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx) {
  dispatch_float(y.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu_backward", y, dy, dx, LeakyReluBackward<S>{static_cast<S>(slope)});
  });
}

void elu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "elu",
                 [&]<class T>(T) { map<device_t<T>>("elu", x, y, Elu<Accumulator<device_t<T>>>{}); });
}

void elu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "elu", [&]<class T>(T) {
    map<device_t<T>>("elu_backward", y, dy, dx, EluBackward<Accumulator<device_t<T>>>{});
  });
}

}  // namespace rodeo::kernels::cuda
