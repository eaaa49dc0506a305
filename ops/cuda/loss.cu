#include <cmath>

#include "ops/cuda/pack.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = kThreads / kWarp;

template <class V, class F>
__device__ V warp_reduce(V value, F combine) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(kFullMask, value, offset));
  return value;
}

__device__ std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp;
}

// A warp per row: maximum, sum of exponentials, result.
template <class T>
__global__ void log_softmax_kernel(const T* x, T* y, std::int64_t rows, std::int64_t c) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  x += row * c;
  Accumulator<T> top = -INFINITY, sum = 0;
  for (std::int64_t j = lane; j < c; j += kWarp) top = fmax(top, widen(x[j]));
  top = warp_reduce(top, [](auto a, auto b) { return fmax(a, b); });
  for (std::int64_t j = lane; j < c; j += kWarp) sum += exp(widen(x[j]) - top);
  const Accumulator<T> shift = top + log(warp_reduce(sum, [](auto a, auto b) { return a + b; }));
  for (std::int64_t j = lane; j < c; j += kWarp) y[row * c + j] = static_cast<T>(widen(x[j]) - shift);
}

template <class T>
__global__ void log_softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t rows,
                                            std::int64_t c) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  Accumulator<T> sum = 0;
  for (std::int64_t j = lane; j < c; j += kWarp) sum += widen(dy[row * c + j]);
  sum = warp_reduce(sum, [](auto a, auto b) { return a + b; });
  for (std::int64_t j = lane; j < c; j += kWarp)
    dx[row * c + j] = static_cast<T>(widen(dy[row * c + j]) - exp(widen(y[row * c + j])) * sum);
}

// One block of kLossThreads: each thread sums a strided share in f64, then a tree in a fixed order.
constexpr int kLossThreads = 1024;

template <class T>
__global__ void nll_loss_kernel(const T* logp, std::int64_t c, const std::int64_t* label,
                                const std::int64_t* index, std::int64_t count, T* loss) {
  __shared__ double shared[kLossThreads];
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < count; k += kLossThreads)
    sum -= widen(logp[index[k] * c + label[index[k]]]);
  shared[threadIdx.x] = sum;
  for (int half = kLossThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    *loss = static_cast<T>(static_cast<Accumulator<T>>(shared[0] / static_cast<double>(count)));
}

// One thread per named node. A node named m times gets m equal terms: which of its threads adds them does not
// matter where each adds the same value to the same element one after the other.
template <class T>
__global__ void nll_loss_backward_kernel(const T* dloss, std::int64_t c, const std::int64_t* label,
                                         const std::int64_t* index, std::int64_t count, T* dlogp) {
  const Accumulator<T> term = -widen(*dloss) / static_cast<Accumulator<T>>(count);
  RODEO_GRID_STRIDE(k, count) atomicAdd(dlogp + index[k] * c + label[index[k]], static_cast<T>(term));
}

// A warp per named node.
template <class T>
__global__ void count_correct_kernel(const T* scores, std::int64_t c, const std::int64_t* label,
                                     const std::int64_t* index, std::int64_t count,
                                     unsigned long long* correct) {
  const std::int64_t k = warp_row();
  if (k >= count) return;
  const T* row = scores + index[k] * c;
  const std::int64_t want = label[index[k]];
  const Accumulator<T> own = widen(row[want]);
  bool best = own == own;  // strictly above all before it, at least as high as all after; false for any NaN
  for (std::int64_t j = threadIdx.x % kWarp; j < c; j += kWarp) {
    const Accumulator<T> other = widen(row[j]);
    best &= j == want || (j < want ? other < own : other <= own);
  }
  best = __all_sync(kFullMask, best);
  if (best && threadIdx.x % kWarp == 0) atomicAdd(correct, 1ull);
}

template <class T>
auto* pointer(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());
}

dim3 grid_of_rows(std::int64_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kRowsPerBlock)));
}

}  // namespace

void log_softmax(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "log_softmax", [&]<class T>(T) {
    launch("log_softmax", y.device(), log_softmax_kernel<device_t<T>>, grid_of_rows(x.dim(0)), kThreads, 0,
           pointer<T>(x), pointer<T>(y), x.dim(0), x.dim(1));
  });
}

void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "log_softmax", [&]<class T>(T) {
    launch("log_softmax_backward", dx.device(), log_softmax_backward_kernel<device_t<T>>,
           grid_of_rows(y.dim(0)), kThreads, 0, pointer<T>(y), pointer<T>(dy), pointer<T>(dx), y.dim(0),
           y.dim(1));
  });
}

void nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss) {
  dispatch_float(logp.dtype(), "nll_loss", [&]<class T>(T) {
    launch("nll_loss", loss.device(), nll_loss_kernel<device_t<T>>, dim3(1), kLossThreads, 0,
           pointer<T>(logp), logp.dim(1), label.data<std::int64_t>(), index.data<std::int64_t>(),
           index.numel(), pointer<T>(loss));
  });
}

void nll_loss_backward(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp) {
  dlogp.fill(0);
  dispatch_float(dlogp.dtype(), "nll_loss", [&]<class T>(T) {
    launch("nll_loss_backward", dlogp.device(), nll_loss_backward_kernel<device_t<T>>,
           grid_for(index.numel(), kThreads), kThreads, 0, pointer<T>(dloss), dlogp.dim(1),
           label.data<std::int64_t>(), index.data<std::int64_t>(), index.numel(), pointer<T>(dlogp));
  });
}

std::int64_t count_correct(const Tensor& scores, const Tensor& label, const Tensor& index) {
  const Tensor correct = Tensor::zeros({}, DType::kI64, scores.device());
  dispatch_float(scores.dtype(), "accuracy", [&]<class T>(T) {
    launch("accuracy", scores.device(), count_correct_kernel<device_t<T>>, grid_of_rows(index.numel()),
           kThreads, 0, pointer<T>(scores), scores.dim(1), label.data<std::int64_t>(),
           index.data<std::int64_t>(), index.numel(),
           reinterpret_cast<unsigned long long*>(correct.data<std::int64_t>()));
  });
  return correct.to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
