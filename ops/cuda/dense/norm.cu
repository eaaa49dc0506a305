// Batch, layer and L2 normalisation. Column statistics are two-pass column sums. The variance is a separate
// pass over x - mean: one more read than E[x^2] - E[x]^2, without its cancellation. A row is a warp's.
#include "core/cuda/warp.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/two_pass_column_sums.cuh"
#include "ops/kernels/norm.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
template <class T, class Stat>
struct AddElement {
  const T* x;
  std::int64_t n;
  __device__ void operator()(std::int64_t i, std::int64_t j, Sums<Stat, 1>& sums) const {
    sums.value[0] += widen(x[i * n + j]);
  }
};
template <class Stat>
struct WriteMean {
  Stat* mean;
  std::int64_t m;
  __device__ void operator()(std::int64_t, std::int64_t j, Sums<Stat, 1>& sums) const {
    mean[j] = sums.value[0] / static_cast<Stat>(m);
  }
};
template <class T, class Stat>
struct AddSquare {
  const T* x;
  const Stat* mean;
  std::int64_t n;
  __device__ void operator()(std::int64_t i, std::int64_t j, Sums<Stat, 1>& sums) const {
    const Stat d = widen(x[i * n + j]) - mean[j];
    sums.value[0] += d * d;
  }
};
template <class Stat>
struct WriteVariance {
  const Stat* mean;
  Stat *rstd, *running_mean, *running_var;  // the running ones may be null
  Stat eps, momentum;
  std::int64_t m;
  __device__ void operator()(std::int64_t, std::int64_t j, Sums<Stat, 1>& sums) const {
    rstd[j] = 1 / sqrt(sums.value[0] / static_cast<Stat>(m) + eps);
    if (!running_mean) return;
    running_mean[j] = (1 - momentum) * running_mean[j] + momentum * mean[j];
    running_var[j] = (1 - momentum) * running_var[j] + momentum * (sums.value[0] / static_cast<Stat>(m - 1));
  }
};
template <class T, class Stat>
struct AddProduct {
  const T *x, *dy;
  const Stat *mean, *rstd;  // may be null
  bool rows;
  std::int64_t n;
  __device__ void operator()(std::int64_t i, std::int64_t j, Sums<Stat, 2>& sums) const {
    const std::int64_t s = rows ? i : j;
    const Stat value = widen(x[i * n + j]), d = widen(dy[i * n + j]);
    sums.value[0] += d * (mean ? (value - mean[s]) * rstd[s] : value);
    sums.value[1] += d;
  }
};
template <class Stat>
struct WriteAffine {
  Stat *dweight, *dbias;
  __device__ void operator()(std::int64_t, std::int64_t j, Sums<Stat, 2>& sums) const {
    dweight[j] = sums.value[0];
    dbias[j] = sums.value[1];
  }
};

// One thread per element, grid-stride, block kThreads.
template <class T, class Stat>
__global__ void normalize_kernel(const T* x, const Stat* mean, const Stat* rstd, bool rows,
                                 const Stat* weight, const Stat* bias, T* y, std::int64_t size,
                                 std::int64_t n) {
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = at / n, j = at - i * n, s = rows ? i : j;
    Stat value = (widen(x[at]) - mean[s]) * rstd[s];
    if (weight) value *= weight[j];
    if (bias) value += bias[j];
    y[at] = static_cast<T>(value);
  }
}

template <class T, class Stat>
__global__ void batch_norm_dx_kernel(const T* x, const T* dy, const Stat* mean, const Stat* rstd,
                                     const Stat* weight, const Stat* dweight, const Stat* dbias, T* dx,
                                     std::int64_t m, std::int64_t n) {
  RODEO_GRID_STRIDE(at, m * n) {
    const std::int64_t j = at % n;
    const Stat xhat = (widen(x[at]) - mean[j]) * rstd[j];
    const Stat shared = dweight ? (dbias[j] + xhat * dweight[j]) / static_cast<Stat>(m) : Stat(0);
    const Stat scale = rstd[j] * (weight ? weight[j] : Stat(1));
    dx[at] = static_cast<T>(scale * (widen(dy[at]) - shared));
  }
}

__device__ std::int64_t row_of_warp() {
  return (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
}

// Kernels with a warp per row: grid (rows / warps of a block), block kThreads.
template <class T, class Stat>
__global__ void row_stats_kernel(const T* x, Stat eps, Stat* mean, Stat* rstd, std::int64_t m,
                                 std::int64_t n) {
  const std::int64_t row = row_of_warp(), lane = threadIdx.x % kWarp;
  if (row >= m) return;
  Stat sum = 0, squares = 0;
  for (std::int64_t j = lane; j < n; j += kWarp) sum += widen(x[row * n + j]);
  const Stat center = sum_over(sum) / static_cast<Stat>(n);
  for (std::int64_t j = lane; j < n; j += kWarp) {
    const Stat d = widen(x[row * n + j]) - center;
    squares += d * d;
  }
  squares = sum_over(squares);
  if (lane > 0) return;
  mean[row] = center;
  rstd[row] = 1 / sqrt(squares / static_cast<Stat>(n) + eps);
}

template <class T, class Stat>
__global__ void layer_norm_dx_kernel(const T* x, const T* dy, const Stat* mean, const Stat* rstd,
                                     const Stat* weight, T* dx, std::int64_t m, std::int64_t n) {
  const std::int64_t row = row_of_warp(), lane = threadIdx.x % kWarp;
  if (row >= m) return;
  const Stat center = mean[row], scale = rstd[row];
  const auto g = [=](std::int64_t j) -> Stat {
    const Stat d = widen(dy[row * n + j]);
    return weight ? d * weight[j] : d;
  };
  const auto xhat = [=](std::int64_t j) -> Stat { return (widen(x[row * n + j]) - center) * scale; };
  Stat sum = 0, products = 0;
  for (std::int64_t j = lane; j < n; j += kWarp) sum += g(j), products += g(j) * xhat(j);
  sum = sum_over(sum) / static_cast<Stat>(n);
  products = sum_over(products) / static_cast<Stat>(n);
  for (std::int64_t j = lane; j < n; j += kWarp)
    dx[row * n + j] = static_cast<T>(scale * (g(j) - sum - xhat(j) * products));
}

template <class T, class Stat>
__global__ void l2_normalize_kernel(const T* x, Stat eps, T* y, Stat* inverse, std::int64_t m,
                                    std::int64_t n) {
  const std::int64_t row = row_of_warp(), lane = threadIdx.x % kWarp;
  if (row >= m) return;
  Stat squares = 0;
  for (std::int64_t j = lane; j < n; j += kWarp) squares += widen(x[row * n + j]) * widen(x[row * n + j]);
  const Stat length = sqrt(sum_over(squares)), scale = 1 / (length < eps ? eps : length);
  for (std::int64_t j = lane; j < n; j += kWarp)
    y[row * n + j] = static_cast<T>(widen(x[row * n + j]) * scale);
  if (lane == 0) inverse[row] = scale;
}

template <class T, class Stat>
__global__ void l2_normalize_backward_kernel(const T* y, const Stat* inverse, Stat largest, const T* dy,
                                             T* dx, std::int64_t m, std::int64_t n) {
  const std::int64_t row = row_of_warp(), lane = threadIdx.x % kWarp;
  if (row >= m) return;
  Stat product = 0;
  for (std::int64_t j = lane; j < n; j += kWarp) product += widen(y[row * n + j]) * widen(dy[row * n + j]);
  product = sum_over(product);
  const Stat scale = inverse[row], along = scale >= largest ? Stat(0) : product;
  for (std::int64_t j = lane; j < n; j += kWarp)
    dx[row * n + j] = static_cast<T>(scale * (widen(dy[row * n + j]) - widen(y[row * n + j]) * along));
}

template <class... P, class... A>
void run_rows(const char* name, const Tensor& x, void (*kernel)(P...), A... arguments) {
  launch(name, x.device(), kernel, dim3(static_cast<unsigned>(ceil_div(x.dim(0), kThreads / kWarp))),
         kThreads, 0, arguments..., x.dim(0), x.dim(1));
}

}  // namespace

void batch_stats(const Tensor& x, double eps, double momentum, const RunningStats& running,
                 const Tensor& mean, const Tensor& rstd) {
  dispatch_float(x.dtype(), "batch_norm", [&]<class T>(T) {
    using D = device_t<T>;
    using Stat = Accumulator<D>;
    const std::int64_t m = x.dim(0), n = x.dim(1);
    two_pass_column_sums<Stat, 1>("batch_stats", x.device(), m, n, AddElement<D, Stat>{device_data<T>(x), n},
                                  WriteMean<Stat>{device_data<Stat>(mean), m});
    two_pass_column_sums<Stat, 1>(
        "batch_stats", x.device(), m, n, AddSquare<D, Stat>{device_data<T>(x), device_data<Stat>(mean), n},
        WriteVariance<Stat>{device_data<Stat>(mean), device_data<Stat>(rstd), device_data<Stat>(running.mean),
                            device_data<Stat>(running.var), static_cast<Stat>(eps),
                            static_cast<Stat>(momentum), m});
  });
}

void row_stats(const Tensor& x, double eps, const Tensor& mean, const Tensor& rstd) {
  dispatch_float(x.dtype(), "layer_norm", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    run_rows("row_stats", x, row_stats_kernel<device_t<T>, Stat>, device_data<T>(x), static_cast<Stat>(eps),
             device_data<Stat>(mean), device_data<Stat>(rstd));
  });
}

void normalize(const Tensor& x, const Tensor& mean, const Tensor& rstd, NormAxis axis, const Tensor& weight,
               const Tensor& bias, const Tensor& y) {
  dispatch_float(x.dtype(), "norm", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    launch("normalize", y.device(), normalize_kernel<device_t<T>, Stat>, grid_for(y.numel(), kThreads),
           kThreads, 0, device_data<T>(x), device_data<Stat>(mean), device_data<Stat>(rstd),
           axis == NormAxis::kRows, device_data<Stat>(weight), device_data<Stat>(bias), device_data<T>(y),
           y.numel(), x.dim(1));
  });
}

void norm_sums(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd, NormAxis axis,
               const Tensor& dweight, const Tensor& dbias) {
  dispatch_float(x.dtype(), "norm", [&]<class T>(T) {
    using D = device_t<T>;
    using Stat = Accumulator<D>;
    two_pass_column_sums<Stat, 2>(
        "norm_sums", x.device(), x.dim(0), x.dim(1),
        AddProduct<D, Stat>{device_data<T>(x), device_data<T>(dy), device_data<Stat>(mean),
                            device_data<Stat>(rstd), axis == NormAxis::kRows, x.dim(1)},
        WriteAffine<Stat>{device_data<Stat>(dweight), device_data<Stat>(dbias)});
  });
}

void batch_norm_dx(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                   const Tensor& weight, const Tensor& dweight, const Tensor& dbias, const Tensor& dx) {
  dispatch_float(x.dtype(), "batch_norm", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    launch("batch_norm_dx", dx.device(), batch_norm_dx_kernel<device_t<T>, Stat>,
           grid_for(dx.numel(), kThreads), kThreads, 0, device_data<T>(x), device_data<T>(dy),
           device_data<Stat>(mean), device_data<Stat>(rstd), device_data<Stat>(weight),
           device_data<Stat>(dweight), device_data<Stat>(dbias), device_data<T>(dx), x.dim(0), x.dim(1));
  });
}

void layer_norm_dx(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                   const Tensor& weight, const Tensor& dx) {
  dispatch_float(x.dtype(), "layer_norm", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    run_rows("layer_norm_dx", x, layer_norm_dx_kernel<device_t<T>, Stat>, device_data<T>(x),
             device_data<T>(dy), device_data<Stat>(mean), device_data<Stat>(rstd), device_data<Stat>(weight),
             device_data<T>(dx));
  });
}

void l2_normalize(const Tensor& x, double eps, const Tensor& y, const Tensor& inverse) {
  dispatch_float(x.dtype(), "l2_normalize", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    run_rows("l2_normalize", x, l2_normalize_kernel<device_t<T>, Stat>, device_data<T>(x),
             static_cast<Stat>(eps), device_data<T>(y), device_data<Stat>(inverse));
  });
}

void l2_normalize_backward(const Tensor& y, const Tensor& inverse, double eps, const Tensor& dy,
                           const Tensor& dx) {
  dispatch_float(y.dtype(), "l2_normalize", [&]<class T>(T) {
    using Stat = Accumulator<device_t<T>>;
    run_rows("l2_normalize_backward", y, l2_normalize_backward_kernel<device_t<T>, Stat>, device_data<T>(y),
             device_data<Stat>(inverse), 1 / static_cast<Stat>(eps), device_data<T>(dy), device_data<T>(dx));
  });
}

}  // namespace rodeo::kernels::cuda
