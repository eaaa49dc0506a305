// Elementwise sums and maxima, and copies of columns (ops/combine.h). One thread per element, grid-stride.
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// s and y may be null.
template <class T, class Value>
__global__ void scaled_sum_kernel(Value a, const Value* s, const T* x, Value b, const T* y, T* out,
                                  std::int64_t size) {
  const Value factor = s ? a + s[0] : a;
  RODEO_GRID_STRIDE(i, size)
  out[i] = static_cast<T>(factor * widen(x[i]) + (y ? b * widen(y[i]) : Value(0)));
}

template <class T>
__device__ bool is_first(T x, T y) {
  const auto a = widen(x), b = widen(y);
  return a >= b || a != a;
}

template <class T>
__global__ void maximum_kernel(const T* x, const T* y, T* out, std::int64_t size) {
  RODEO_GRID_STRIDE(i, size) out[i] = is_first(x[i], y[i]) ? x[i] : y[i];
}

template <class T>
__global__ void maximum_backward_kernel(const T* x, const T* y, const T* dout, T* dx, T* dy,
                                        std::int64_t size) {
  RODEO_GRID_STRIDE(i, size) {
    const bool first = is_first(x[i], y[i]);
    dx[i] = first ? dout[i] : static_cast<T>(0.f);
    dy[i] = first ? static_cast<T>(0.f) : dout[i];
  }
}

template <class T>
__global__ void copy_columns_kernel(const T* from, std::int64_t from_width, std::int64_t count, T* to,
                                    std::int64_t to_width, std::int64_t size) {
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = at / count, j = at - i * count;
    to[i * to_width + j] = from[i * from_width + j];
  }
}

template <class T>
__global__ void transpose_last_kernel(const T* x, std::int64_t a, std::int64_t b, T* y, std::int64_t size) {
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t matrix = at / (a * b), i = at % a, j = at / a % b;
    y[at] = x[(matrix * a + i) * b + j];
  }
}

template <class... P, class... A>
void run(const char* name, Device device, std::int64_t size, void (*kernel)(P...), A... arguments) {
  launch(name, device, kernel, grid_for(size, kThreads), kThreads, 0, arguments..., size);
}

}  // namespace

void transpose_last(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "combine", [&]<class T>(T) {
    run("transpose_last", y.device(), y.numel(), transpose_last_kernel<device_t<T>>, device_data<T>(x),
        x.dim(1), x.dim(2), device_data<T>(y));
  });
}

void scaled_sum(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "combine", [&]<class T>(T) {
    using Value = Accumulator<device_t<T>>;
    run("scaled_sum", out.device(), out.numel(), scaled_sum_kernel<device_t<T>, Value>, static_cast<Value>(a),
        device_data<Value>(s), device_data<T>(x), static_cast<Value>(b), device_data<T>(y),
        device_data<T>(out));
  });
}

void maximum(const Tensor& x, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "maximum", [&]<class T>(T) {
    run("maximum", out.device(), out.numel(), maximum_kernel<device_t<T>>, device_data<T>(x),
        device_data<T>(y), device_data<T>(out));
  });
}

void maximum_backward(const Tensor& x, const Tensor& y, const Tensor& dout, const Tensor& dx,
                      const Tensor& dy) {
  dispatch_float(x.dtype(), "maximum", [&]<class T>(T) {
    run("maximum_backward", dx.device(), dx.numel(), maximum_backward_kernel<device_t<T>>, device_data<T>(x),
        device_data<T>(y), device_data<T>(dout), device_data<T>(dx), device_data<T>(dy));
  });
}

void copy_columns(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                  std::int64_t at) {
  dispatch_float(from.dtype(), "concat_columns", [&]<class T>(T) {
    run("copy_columns", to.device(), from.dim(0) * count, copy_columns_kernel<device_t<T>>,
        device_data<T>(from) + begin, from.dim(1), count, device_data<T>(to) + at, to.dim(1));
  });
}

}  // namespace rodeo::kernels::cuda
