// The squared norm of several tensors: one sum per block, then one block adds them in order
// (ops/grad_clip.h).
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 1024;  // of a tensor

std::int64_t blocks_of(std::int64_t n) {
  const std::int64_t blocks = ceil_div(n, kThreads * 4);
  return blocks < 1 ? 1 : blocks < kMaxBlocks ? blocks : kMaxBlocks;
}

// Grid blocks_of(n), block kThreads. Writes partial[blockIdx.x] also for n = 0.
template <class T>
__global__ void square_kernel(const T* x, std::int64_t n, double* partial) {
  double sum = 0;
  RODEO_GRID_STRIDE(i, n) {
    const double value = static_cast<double>(widen(x[i]));
    sum += value * value;
  }
  const double total = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// One block of kThreads.
__global__ void add_kernel(const double* partial, std::int64_t n, double* out) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) sum += partial[i];
  const double total = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) *out = total;
}

// One thread per element, grid-stride.
template <class T>
__global__ void scale_kernel(const T* x, std::int64_t n, const double* squares, double max_norm, T* y) {
  const double factor = max_norm / (sqrt(*squares) + 1e-6);
  const T by = factor > 1 ? T(1) : static_cast<T>(factor);  // NaN stays NaN
  RODEO_GRID_STRIDE(i, n) y[i] = x[i] * by;
}

}  // namespace

void sum_squares(const std::vector<Tensor>& xs, const Tensor& out) {
  std::int64_t blocks = 0;
  for (const Tensor& x : xs) blocks += blocks_of(x.numel());
  const Tensor partial = Tensor::empty({blocks}, DType::kF64, out.device());
  double* at = partial.data<double>();
  for (const Tensor& x : xs) {
    const std::int64_t own = blocks_of(x.numel());
    dispatch_float(x.dtype(), "sum_squares", [&]<class T>(T) {
      launch("sum_squares", out.device(), square_kernel<device_t<T>>, dim3(static_cast<unsigned>(own)),
             kThreads, 0, device_data<T>(x), x.numel(), at);
    });
    at += own;
  }
  launch("sum_squares", out.device(), add_kernel, dim3(1), kThreads, 0, partial.data<double>(), blocks,
         out.data<double>());
}

void scale_to_norm(const std::vector<Tensor>& xs, const Tensor& squares, double max_norm,
                   const std::vector<Tensor>& ys) {
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const std::int64_t n = xs[k].numel();
    const auto run = [&]<class T>(T) {
      launch("scale_to_norm", squares.device(), scale_kernel<T>, grid_for(n, kThreads), kThreads, 0,
             xs[k].data<T>(), n, squares.data<double>(), max_norm, ys[k].data<T>());
    };
    if (xs[k].dtype() == DType::kF64)
      run(double{});
    else
      run(float{});
  }
}

}  // namespace rodeo::kernels::cuda
