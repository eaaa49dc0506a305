#include <algorithm>
#include <cmath>

#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = kThreads / kWarp;

/// Over groups of kLanes neighbours; all lanes of the warp call it.
template <int kLanes, class V, class F>
__device__ V reduce_lanes(V value, F combine) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
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
  top = reduce_lanes<kWarp>(top, [](auto a, auto b) { return fmax(a, b); });
  for (std::int64_t j = lane; j < c; j += kWarp) sum += exp(widen(x[j]) - top);
  const Accumulator<T> shift = top + log(reduce_lanes<kWarp>(sum, [](auto a, auto b) { return a + b; }));
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
  sum = reduce_lanes<kWarp>(sum, [](auto a, auto b) { return a + b; });
  for (std::int64_t j = lane; j < c; j += kWarp)
    dx[row * c + j] = static_cast<T>(widen(dy[row * c + j]) - exp(widen(y[row * c + j])) * sum);
}

// One block of kLossThreads: each thread sums a strided share in f64, then a tree in a fixed order.
constexpr int kLossThreads = 1024;

template <class T>
__global__ void nll_loss_kernel(const T* logp, std::int64_t c, const std::int64_t* label,
                                const std::int64_t* index, std::int64_t count, Accumulator<T>* loss) {
  double sum = 0;
  for (std::int64_t k = threadIdx.x; k < count; k += kLossThreads)
    sum -= widen(logp[index[k] * c + label[index[k]]]);
  sum = block_sum<kLossThreads>(sum);
  if (threadIdx.x == 0) *loss = static_cast<Accumulator<T>>(sum / static_cast<double>(count));
}

// One thread per named node. A node named m times gets m equal terms: which of its threads adds them does not
// matter where each adds the same value to the same element one after the other.
template <class T>
__global__ void nll_loss_backward_kernel(const Accumulator<T>* dloss, std::int64_t c,
                                         const std::int64_t* label, const std::int64_t* index,
                                         std::int64_t count, T* dlogp) {
  const Accumulator<T> term = -*dloss / static_cast<Accumulator<T>>(count);
  RODEO_GRID_STRIDE(k, count) atomicAdd(dlogp + index[k] * c + label[index[k]], static_cast<T>(term));
}

/// Sets of nodes, one after the other over the blocks of a grid.
constexpr int kMostSets = 4;
struct Sets {
  const std::int64_t* index[kMostSets];
  std::int64_t count[kMostSets];
  std::int64_t first_block[kMostSets + 1];
  int number = 0;
};
struct Sums {
  double right, loss;
};

__device__ Sums operator+(const Sums& a, const Sums& b) {
  return {a.right + b.right, a.loss + b.loss};
}

/// Lanes that share a row of scores: a row is read in whole sectors, and a warp has several under way.
constexpr int kLanes = 8, kGroupsPerBlock = kThreads / kLanes;
constexpr std::int64_t kMostBlocks = 528;  // of a set: about as many as run at a time

/// The named nodes that a group of kLanes lanes takes, by strides: the next one's name is read while this one
/// is worked on. All lanes of a warp make the same number of steps; those past the end look at the node that
/// index begins with.
struct NodeWalk {
  const std::int64_t *index, *label;
  std::int64_t count, step, warp_first, next, node, want;
  bool valid;

  /// Of blocks `block` of `blocks`.
  __device__ NodeWalk(const std::int64_t* index, const std::int64_t* label, std::int64_t count,
                      std::int64_t block, std::int64_t blocks)
      : index(index),
        label(label),
        count(count),
        step(blocks * kGroupsPerBlock),
        warp_first((block * kThreads + threadIdx.x) / kWarp * (kWarp / kLanes)) {
    next = index[own() < count ? own() : 0];
    take();
  }
  __device__ bool more() const { return warp_first < count; }
  __device__ void advance() {
    warp_first += step;
    take();
  }

 private:
  __device__ std::int64_t own() const { return warp_first + threadIdx.x % kWarp / kLanes; }
  __device__ void take() {
    valid = own() < count;
    node = next;
    next = index[own() + step < count ? own() + step : 0];
    want = label[node];
  }
};

/// A row of scores that kLanes lanes share, short ones in registers: read once, all of it at once. All lanes
/// of the warp call its functions.
template <class T>
class ScoreRow {
 public:
  using Score = Accumulator<T>;

  __device__ ScoreRow(const T* row, std::int64_t c) : row_(row), c_(c), is_short_(c <= kLanes * kHeld) {
    const int columns = static_cast<int>(c);
    if (is_short_)
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i * kLanes >= columns) break;  // the same for all lanes
        held_[i] = place(i) < columns ? widen(row[place(i)]) : Score(-INFINITY);
      }
  }
  /// f(column, score) for this lane's columns, which are int in a short row; after its end scores of -inf
  /// follow.
  template <class F>
  __device__ void each(F f) const {
    if (is_short_) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i * kLanes >= static_cast<int>(c_)) break;
        f(place(i), held_[i]);
      }
    } else {
      for (std::int64_t j = threadIdx.x % kLanes; j < c_; j += kLanes) f(j, widen(row_[j]));
    }
  }
  __device__ Score at(std::int64_t column) const {
    if (!is_short_) return widen(row_[column]);
    const int wanted = static_cast<int>(column);
    Score own = 0;
    each([&](auto j, Score score) { own = j == wanted ? score : own; });
    return __shfl_sync(kFullMask, own, wanted % kLanes, kLanes);
  }
  __device__ Score log_sum_exp() const {
    Score top = -INFINITY, sum = 0;
    each([&](auto, Score score) { top = fmax(top, score); });
    top = reduce_lanes<kLanes>(top, [](auto a, auto b) { return fmax(a, b); });
    each([&](auto, Score score) { sum += exp(score - top); });
    return top + log(reduce_lanes<kLanes>(sum, [](auto a, auto b) { return a + b; }));
  }

 private:
  static constexpr int kHeld = 8;
  __device__ static int place(int i) {
    return static_cast<int>(threadIdx.x) % kLanes + i * kLanes;
  }

  const T* row_;
  std::int64_t c_;
  bool is_short_;
  Score held_[kHeld];
};

// kLanes lanes per named node, blocks one set after the other. A block leaves its sums in `partial`; the last
// one adds them up in order, so that it does not matter which that is. metrics [sets, 2], or the first set's
// loss.
template <class T>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 2 : 4)
    node_metrics_kernel(const T* scores, std::int64_t c, const std::int64_t* label, Sets sets, Sums* partial,
                        int* arrived, double* metrics, Accumulator<T>* loss) {
  int set = 0;
  while (blockIdx.x >= sets.first_block[set + 1]) ++set;
  Sums mine{0, 0};
  for (NodeWalk at(sets.index[set], label, sets.count[set], blockIdx.x - sets.first_block[set],
                   sets.first_block[set + 1] - sets.first_block[set]);
       at.more(); at.advance()) {
    const std::int64_t want = at.want;
    const ScoreRow<T> row(scores + at.node * c, c);
    const Accumulator<T> own = row.at(want);
    bool best = true;  // strictly above all before it, at least as high as all after; false for any NaN
    row.each([&](auto j, Accumulator<T> other) {
      best &= j < static_cast<decltype(j)>(want) ? other < own : other <= own;
    });
    best = reduce_lanes<kLanes>(best, [](bool a, bool b) { return a && b; });
    const Accumulator<T> level = row.log_sum_exp();
    if (at.valid && threadIdx.x % kLanes == 0)
      mine = mine + Sums{best ? 1. : 0., static_cast<double>(level - own)};
  }
  const Sums own = block_sum<kThreads>(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = own;
  if (!is_last_block(arrived, gridDim.x)) return;
  for (set = 0; set < sets.number; ++set) {
    Sums sum{0, 0};
    constexpr int kMost = ceil_div(kMostBlocks, static_cast<std::int64_t>(kThreads));
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const std::int64_t b = sets.first_block[set] + threadIdx.x + i * kThreads;
      if (b < sets.first_block[set + 1])
        sum = sum + Sums{__ldcg(&partial[b].right), __ldcg(&partial[b].loss)};
    }
    const Sums total = block_sum<kThreads>(sum);
    if (threadIdx.x > 0) continue;
    const double nodes = sets.count[set] > 0 ? static_cast<double>(sets.count[set]) : 1;
    if (metrics) {
      metrics[2 * set] = total.right / nodes;
      metrics[2 * set + 1] = total.loss / nodes;
    } else {
      *loss = static_cast<Accumulator<T>>(total.loss / nodes);
    }
  }
}

// kLanes lanes per named node add to a row of zeros. A node named m times gets m equal terms, so their order
// does not matter.
template <class T>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 2 : 4)
    cross_entropy_backward_kernel(const Accumulator<T>* dloss, const T* logits, std::int64_t c,
                                  const std::int64_t* label, const std::int64_t* index, std::int64_t count,
                                  T* dlogits) {
  const Accumulator<T> share = *dloss / static_cast<Accumulator<T>>(count);
  for (NodeWalk at(index, label, count, blockIdx.x, gridDim.x); at.more(); at.advance()) {
    const ScoreRow<T> row(logits + at.node * c, c);
    const Accumulator<T> shift = row.log_sum_exp();
    row.each([&](auto j, Accumulator<T> score) {
      if (!at.valid || j >= static_cast<decltype(j)>(c)) return;
      const Accumulator<T> softmax = exp(score - shift);
      const bool wanted = j == static_cast<decltype(j)>(at.want);
      atomicAdd(dlogits + at.node * c + j, static_cast<T>(share * (wanted ? softmax - 1 : softmax)));
    });
  }
}

dim3 grid_of_rows(std::int64_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kRowsPerBlock)));
}

std::int64_t blocks_for(std::int64_t nodes) {
  return std::min(kMostBlocks, ceil_div(nodes, kGroupsPerBlock));
}

void launch_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& given,
                    const Tensor& metrics, const Tensor& loss) {
  Sets sets{};
  for (const Tensor& index : given) {
    const int s = sets.number++;
    sets.index[s] = index.data<std::int64_t>();
    sets.count[s] = index.numel();
    sets.first_block[s + 1] = sets.first_block[s] + blocks_for(index.numel());
  }
  const std::int64_t blocks = sets.first_block[sets.number];
  if (blocks == 0) return metrics.fill(0);  // no set has a node
  const Tensor partial = Tensor::empty({blocks, 2}, DType::kF64, scores.device());
  dispatch_float(scores.dtype(), "node_metrics", [&]<class T>(T) {
    launch("node_metrics", scores.device(), node_metrics_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(blocks)), kThreads, 0, device_data<T>(scores), scores.dim(1),
           label.data<std::int64_t>(), sets, reinterpret_cast<Sums*>(partial.data<double>()),
           Context::of(scores.device()).zeroed_counters(1),
           metrics.defined() ? metrics.data<double>() : nullptr, device_data<Accumulator<T>>(loss));
  });
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
           device_data<T>(logp), logp.dim(1), label.data<std::int64_t>(), index.data<std::int64_t>(),
           index.numel(), loss.data<Accumulator<T>>());
  });
}

void nll_loss_backward(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp) {
  dlogp.fill(0);
  dispatch_float(dlogp.dtype(), "nll_loss", [&]<class T>(T) {
    launch("nll_loss_backward", dlogp.device(), nll_loss_backward_kernel<device_t<T>>,
           grid_for(index.numel(), kThreads), kThreads, 0, dloss.data<Accumulator<T>>(), dlogp.dim(1),
           label.data<std::int64_t>(), index.data<std::int64_t>(), index.numel(), device_data<T>(dlogp));
  });
}

void cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& index, const Tensor& loss) {
  launch_metrics(logits, label, {index}, {}, loss);
}

void cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& label,
                            const Tensor& index, const Tensor& dlogits) {
  check_cuda(cudaMemsetAsync(dlogits.raw(), 0, static_cast<std::size_t>(dlogits.nbytes()),
                             Context::of(dlogits.device()).stream()),
             "cross_entropy");
  dispatch_float(logits.dtype(), "cross_entropy", [&]<class T>(T) {
    launch("cross_entropy_backward", dlogits.device(), cross_entropy_backward_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(blocks_for(index.numel()))), kThreads, 0, dloss.data<Accumulator<T>>(),
           device_data<T>(logits), logits.dim(1), label.data<std::int64_t>(), index.data<std::int64_t>(),
           index.numel(), device_data<T>(dlogits));
  });
}

void node_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets,
                  const Tensor& metrics) {
  launch_metrics(scores, label, sets, metrics, {});
}

}  // namespace rodeo::kernels::cuda
