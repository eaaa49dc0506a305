// log_softmax and nll_loss (ops/loss.h).
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/warp_reduce.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = kThreads / kWarp;

__device__ std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp;
}

// Three passes over a row: its maximum, the sum of exponentials, the result. Grid (rows / kRowsPerBlock),
// block kThreads, a warp a row.
template <class T>
__global__ void log_softmax_kernel(const T* x, T* y, std::int64_t rows, std::int64_t c) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  x += row * c;
  Accumulator<T> top = -INFINITY, sum = 0;
  for (std::int64_t j = lane; j < c; j += kWarp) top = fmax(top, widen(x[j]));
  top = reduce_lanes<kWarp>(top, [](auto a, auto b) { return fmax(a, b); });
  for (std::int64_t j = lane; j < c; j += kWarp) sum += exp(widen(x[j]) - top);
  const Accumulator<T> shift = top + log(reduce_lanes<kWarp>(sum, [](auto a, auto b) { return a + b; }));
  for (std::int64_t j = lane; j < c; j += kWarp) y[row * c + j] = static_cast<T>(widen(x[j]) - shift);
}

// Grid and block as above.
template <class T>
__global__ void log_softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t rows,
                                            std::int64_t c) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  Accumulator<T> sum = 0;
  for (std::int64_t j = lane; j < c; j += kWarp) sum += widen(dy[row * c + j]);
  sum = reduce_lanes<kWarp>(sum, [](auto a, auto b) { return a + b; });
  for (std::int64_t j = lane; j < c; j += kWarp)
    dx[row * c + j] = static_cast<T>(widen(dy[row * c + j]) - exp(widen(y[row * c + j])) * sum);
}

// One block of kLossThreads. Sums in f64 in a fixed order.
constexpr int kLossThreads = 1024;

template <class T>
__global__ void nll_loss_kernel(const T* logp, std::int64_t rows, std::int64_t c, const std::int64_t* label,
                                const std::int64_t* index, std::int64_t count, Accumulator<T>* loss,
                                IndexCheck of_index, IndexCheck of_label) {
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < count; k += kLossThreads) {
    const std::int64_t node = index[k];
    const bool named = is_index(node, rows, k, of_index) && is_index(label[node], c, node, of_label);
    sum -= named ? widen(logp[node * c + label[node]]) : NAN;
  }
  sum = block_sum<kLossThreads>(sum);
  if (threadIdx.x == 0) *loss = static_cast<Accumulator<T>>(sum / static_cast<double>(count));
}

// One thread per entry of index, grid-stride. A node that occurs m times gets m equal terms, so the order of
// the atomics does not change the sum. The forward kernel has reported what is out of range.
template <class T>
__global__ void nll_loss_backward_kernel(const Accumulator<T>* dloss, std::int64_t rows, std::int64_t c,
                                         const std::int64_t* label, const std::int64_t* index,
                                         std::int64_t count, T* dlogp) {
  const Accumulator<T> term = -*dloss / static_cast<Accumulator<T>>(count);
  RODEO_GRID_STRIDE(k, count) {
    const std::int64_t node = index[k];
    if (node < 0 || node >= rows || label[node] < 0 || label[node] >= c) continue;
    atomicAdd(dlogp + node * c + label[node], static_cast<T>(term));
  }
}

dim3 grid_of_rows(std::int64_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kRowsPerBlock)));
}

}  // namespace

void log_softmax(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "log_softmax", [&]<class T>(T) {
    launch("log_softmax", y.device(), log_softmax_kernel<device_t<T>>, grid_of_rows(x.dim(0)), kThreads, 0,
           device_data<T>(x), device_data<T>(y), x.dim(0), x.dim(1));
  });
}

void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "log_softmax", [&]<class T>(T) {
    launch("log_softmax_backward", dx.device(), log_softmax_backward_kernel<device_t<T>>,
           grid_of_rows(y.dim(0)), kThreads, 0, device_data<T>(y), device_data<T>(dy), device_data<T>(dx),
           y.dim(0), y.dim(1));
  });
}

void nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss) {
  dispatch_float(logp.dtype(), "nll_loss", [&]<class T>(T) {
    launch("nll_loss", loss.device(), nll_loss_kernel<device_t<T>>, dim3(1), kLossThreads, 0,
           device_data<T>(logp), logp.dim(0), logp.dim(1), label.data<std::int64_t>(),
           index.data<std::int64_t>(), index.numel(), loss.data<Accumulator<T>>(),
           index_check(loss.device(), "nll_loss", "index"), index_check(loss.device(), "nll_loss", "label"));
  });
}

void nll_loss_backward(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp) {
  dlogp.fill(0);
  dispatch_float(dlogp.dtype(), "nll_loss", [&]<class T>(T) {
    launch("nll_loss_backward", dlogp.device(), nll_loss_backward_kernel<device_t<T>>,
           grid_for(index.numel(), kThreads), kThreads, 0, dloss.data<Accumulator<T>>(), dlogp.dim(0),
           dlogp.dim(1), label.data<std::int64_t>(), index.data<std::int64_t>(), index.numel(),
           device_data<T>(dlogp));
  });
}

}  // namespace rodeo::kernels::cuda
