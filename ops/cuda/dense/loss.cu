// log_softmax and nll_loss (ops/loss.h).
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/dense/score_row.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/warp_reduce.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
// The row of this thread's group of kOfRow lanes. Groups past the last row read row 0 and write nothing,
// because all lanes of a warp take part in reductions.
template <int kOfRow>
struct GroupRow {
  std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kOfRow;
  bool valid;
  __device__ explicit GroupRow(std::int64_t rows) : valid(row < rows) {
    if (!valid) row = 0;
  }
};

// Grid (rows * kOfRow / kThreads), block kThreads, kOfRow lanes a row.
template <class T, int kOfRow>
__global__ void log_softmax_kernel(const T* x, T* y, std::int64_t rows, std::int64_t c) {
  const GroupRow<kOfRow> at(rows);
  const ScoreRow<T, kOfRow> scores(x + at.row * c, c);
  const Accumulator<T> shift = scores.log_sum_exp();
  scores.each([&](auto j, Accumulator<T> score) {
    if (at.valid && j < static_cast<decltype(j)>(c)) y[at.row * c + j] = static_cast<T>(score - shift);
  });
}

// Grid and block as in log_softmax_kernel.
template <class T, int kOfRow>
__global__ void log_softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t rows,
                                            std::int64_t c) {
  const GroupRow<kOfRow> at(rows);
  const ScoreRow<T, kOfRow> gradients(dy + at.row * c, c);
  Accumulator<T> sum = 0;
  gradients.each([&](auto j, Accumulator<T> dy_j) {
    if (j < static_cast<decltype(j)>(c)) sum += dy_j;
  });
  sum = reduce_lanes<kOfRow>(sum, [](auto a, auto b) { return a + b; });
  gradients.each([&](auto j, Accumulator<T> dy_j) {
    if (!at.valid || j >= static_cast<decltype(j)>(c)) return;
    const std::int64_t place = at.row * c + j;
    dx[place] = static_cast<T>(dy_j - exp(widen(y[place])) * sum);
  });
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

// Calls run(integral_constant kOfRow, grid): 8 lanes a row where they hold it, else a warp, in whose L1 cache
// the row stays for the next pass.
template <class T, class Run>
void by_rows(const Tensor& x, const Run& run) {
  const auto with = [&]<int kOfRow>(std::integral_constant<int, kOfRow> lanes) {
    run(lanes, dim3(static_cast<unsigned>(ceil_div(x.dim(0) * kOfRow, std::int64_t{kThreads}))));
  };
  if (x.dim(1) <= ScoreRow<T>::kMostHeld)
    with(std::integral_constant<int, LossConfig::kLanes>{});
  else
    with(std::integral_constant<int, kWarp>{});
}

}  // namespace

void log_softmax(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "log_softmax", [&]<class T>(T) {
    by_rows<device_t<T>>(x, [&]<int kOfRow>(std::integral_constant<int, kOfRow>, dim3 grid) {
      launch("log_softmax", y.device(), log_softmax_kernel<device_t<T>, kOfRow>, grid, kThreads, 0,
             device_data<T>(x), device_data<T>(y), x.dim(0), x.dim(1));
    });
  });
}

void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "log_softmax", [&]<class T>(T) {
    by_rows<device_t<T>>(y, [&]<int kOfRow>(std::integral_constant<int, kOfRow>, dim3 grid) {
      launch("log_softmax_backward", dx.device(), log_softmax_backward_kernel<device_t<T>, kOfRow>, grid,
             kThreads, 0, device_data<T>(y), device_data<T>(dy), device_data<T>(dx), y.dim(0), y.dim(1));
    });
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
