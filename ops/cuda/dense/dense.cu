// Elementwise operators on dense matrices, dropout, random numbers and sums of rows (ops/dense.h).
#include "core/cuda/warp.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/two_pass_column_sums.cuh"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Elementwise kernels: one thread per element, grid-stride, block kThreads.
template <class T>
__global__ void add_bias_kernel(const T* x, const Accumulator<T>* b, T* y, std::int64_t size,
                                std::int64_t n) {
  RODEO_GRID_STRIDE(i, size) y[i] = static_cast<T>(widen(x[i]) + b[i % n]);
}

template <class T>
__global__ void cast_padded_kernel(const float* x, std::int64_t n, T* out, std::int64_t size,
                                   std::int64_t columns) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t row = i / columns, column = i - row * columns;
    out[i] = static_cast<T>(column < n ? x[row * n + column] : 0.f);
  }
}

template <class T>
__global__ void scale_rows_kernel(const T* x, const Accumulator<T>* s, T* y, std::int64_t size,
                                  std::int64_t n) {
  RODEO_GRID_STRIDE(i, size) y[i] = static_cast<T>(widen(x[i]) * s[i / n]);
}

template <class T>
__global__ void inverse_sqrt_kernel(const T* x, T* y, std::int64_t size) {
  RODEO_GRID_STRIDE(i, size) {
    const auto value = widen(x[i]);
    y[i] = static_cast<T>(value > 0 ? 1 / sqrt(value) : decltype(value)(0));
  }
}

template <class T>
__global__ void uniform_kernel(T* out, std::int64_t size, float lo, float hi, RandomKey key) {
  RODEO_GRID_STRIDE(i, size)
  out[i] = static_cast<T>(uniform_between(lo, hi, random_word(key.seed, key.stream_now(), i)));
}

// One thread per four elements, which share a Philox call. Grid-stride, block kThreads.
template <class T>
__global__ void dropout_kernel(const T* x, T* y, std::int64_t size, std::uint32_t threshold,
                               Accumulator<T> scale, RandomKey key, std::uint64_t before) {
  const std::uint64_t stream = key.stream_now();
  RODEO_GRID_STRIDE(quad, (size + 3) / 4) {
    const Philox4 random = philox(key.seed, stream, before + quad);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::int64_t i = quad * 4 + k;
      if (i < size)
        y[i] = dropout_keeps(random.word[k], threshold) ? static_cast<T>(widen(x[i]) * scale)
                                                        : static_cast<T>(0.f);
    }
  }
}

// x[i, :] / sum |x[i, :]|. Grid (rows / warps of a block), block kThreads, a warp a row.
template <class T>
__global__ void normalize_rows_kernel(const T* x, T* y, std::int64_t rows, std::int64_t n) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  Accumulator<T> sum = 0;
  for (std::int64_t j = threadIdx.x % kWarp; j < n; j += kWarp) sum += fabs(widen(x[row * n + j]));
  sum = sum_over(sum);
  for (std::int64_t j = threadIdx.x % kWarp; j < n; j += kWarp)
    y[row * n + j] = static_cast<T>(sum == 0 ? sum : widen(x[row * n + j]) / sum);
}

// Terms and results of sum_rows.
template <class T>
struct AddElement {
  const T* x;
  std::int64_t n;
  __device__ void operator()(std::int64_t i, std::int64_t j, Sums<Accumulator<T>, 1>& sums) const {
    sums.value[0] += widen(x[i * n + j]);
  }
};
template <class Sum>
struct WriteSum {
  Sum* out;
  __device__ void operator()(std::int64_t, std::int64_t j, Sums<Sum, 1>& sums) const {
    out[j] = sums.value[0];
  }
};

// Launches an elementwise kernel over `size` work items.
template <class... P, class... A>
void run(const char* name, const Tensor& out, std::int64_t size, void (*kernel)(P...), A... arguments) {
  launch(name, out.device(), kernel, grid_for(size, kThreads), kThreads, 0, arguments...);
}

}  // namespace

void cast_padded(const Tensor& x, const Tensor& out) {
  const auto cast = [&]<class T>(T*) {
    run("cast_padded", out, out.numel(), cast_padded_kernel<T>, x.data<float>(), x.dim(1),
        static_cast<T*>(out.raw()), out.numel(), out.dim(1));
  };
  if (out.dtype() == DType::kBF16)
    cast(static_cast<__nv_bfloat16*>(nullptr));
  else
    cast(static_cast<__half*>(nullptr));
}

void add_bias(const Tensor& x, const Tensor& b, const Tensor& y) {
  dispatch_float(x.dtype(), "add_bias", [&]<class T>(T) {
    run("add_bias", y, y.numel(), add_bias_kernel<device_t<T>>, device_data<T>(x), b.data<Accumulator<T>>(),
        device_data<T>(y), y.numel(), x.dim(1));
  });
}

void sum_rows(const Tensor& x, const Tensor& out) {
  if (x.dim(0) == 0) return out.fill(0);
  dispatch_float(x.dtype(), "sum_rows", [&]<class T>(T) {
    using D = device_t<T>;
    using Sum = Accumulator<D>;
    two_pass_column_sums<Sum, 1>("sum_rows", x.device(), x.dim(0), x.dim(1),
                                 AddElement<D>{device_data<T>(x), x.dim(1)}, WriteSum<Sum>{out.data<Sum>()});
  });
}

void dropout(const Tensor& x, double p, RandomKey key, const Tensor& y) {
  dispatch_float(x.dtype(), "dropout", [&]<class T>(T) {
    using D = device_t<T>;
    run("dropout", y, ceil_div(y.numel(), 4), dropout_kernel<D>, device_data<T>(x), device_data<T>(y),
        y.numel(), dropout_threshold(p), static_cast<Accumulator<D>>(1 / (1 - p)), key,
        first_quad(key, y.numel() / y.dim(0)));
  });
}

void uniform(const Tensor& out, float lo, float hi, RandomKey key) {
  dispatch_float(out.dtype(), "uniform", [&]<class T>(T) {
    run("uniform", out, out.numel(), uniform_kernel<device_t<T>>, device_data<T>(out), out.numel(), lo, hi,
        key);
  });
}

void scale_rows(const Tensor& x, const Tensor& s, const Tensor& y) {
  dispatch_float(x.dtype(), "scale_rows", [&]<class T>(T) {
    run("scale_rows", y, y.numel(), scale_rows_kernel<device_t<T>>, device_data<T>(x),
        s.data<Accumulator<T>>(), device_data<T>(y), y.numel(), x.dim(1));
  });
}

void normalize_rows(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "normalize_rows", [&]<class T>(T) {
    launch("normalize_rows", y.device(), normalize_rows_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(ceil_div(x.dim(0), kThreads / kWarp))), kThreads, 0, device_data<T>(x),
           device_data<T>(y), x.dim(0), x.dim(1));
  });
}

void inverse_sqrt(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "inverse_sqrt", [&]<class T>(T) {
    run("inverse_sqrt", y, y.numel(), inverse_sqrt_kernel<device_t<T>>, device_data<T>(x), device_data<T>(y),
        y.numel());
  });
}

}  // namespace rodeo::kernels::cuda
