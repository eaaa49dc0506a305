// cross_entropy and node_metrics (ops/loss.h): log-softmax and the loss of named nodes, without the matrix of
// log-probabilities.
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/dense/score_row.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/warp_reduce.cuh"
#include "ops/kernels/loss.h"
#include "ops/plan/dense_config.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = LossConfig::kThreads;
constexpr int kLanes = LossConfig::kLanes;  // that share a row of scores
constexpr int kGroupsPerBlock = kThreads / kLanes;

/// Sets of nodes. Consecutive ranges of blocks work on them.
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

/// Sizes that nodes and labels are checked against.
struct Limits {
  std::int64_t nodes, classes;
  IndexCheck index, label;
};

/// Strided loop of groups of kLanes lanes over the nodes of a set. The next index is loaded one step ahead.
/// All lanes of a warp make the same number of steps; groups past the end read the first node again and are
/// not `valid`. Where the node or its label is out of range, node and label are 0 and `in_range` is false.
struct NodeLoop {
  const std::int64_t *index, *label;
  const Limits& limits;
  std::int64_t count, step, warp_first, next, node, want;
  bool valid, in_range;

  /// For block number `block` of the `blocks` of this set.
  __device__ NodeLoop(const std::int64_t* index, const std::int64_t* label, const Limits& limits,
                      std::int64_t count, std::int64_t block, std::int64_t blocks)
      : index(index),
        label(label),
        limits(limits),
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
    in_range = is_index(node, limits.nodes, valid ? own() : 0, limits.index);
    if (!in_range) node = 0;
    want = label[node];
    if (in_range) in_range = is_index(want, limits.classes, node, limits.label);
    if (!in_range) want = 0;
  }
};

// Accuracy and mean loss of each set. Grid (blocks of all sets), block kThreads, kLanes lanes a node. A block
// writes its sums to `partial`, and the last block adds them in order. Writes metrics [sets, 2], or, where
// metrics is null, the first set's loss.
template <class T>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 2 : 4)
    node_metrics_kernel(const T* scores, const __grid_constant__ Limits limits, const std::int64_t* label,
                        Sets sets, Sums* partial, int* arrived, double* metrics, Accumulator<T>* loss) {
  const std::int64_t c = limits.classes;
  int set = 0;
  while (blockIdx.x >= sets.first_block[set + 1]) ++set;
  Sums mine{0, 0};
  for (NodeLoop at(sets.index[set], label, limits, sets.count[set], blockIdx.x - sets.first_block[set],
                   sets.first_block[set + 1] - sets.first_block[set]);
       at.more(); at.advance()) {
    const std::int64_t want = at.want;
    const ScoreRow<T> row(scores + at.node * c, c);
    const Accumulator<T> own = row.at(want);
    bool best = true;  // the first maximum: above all before it, not below any after it; false for NaN
    row.each([&](auto j, Accumulator<T> other) {
      best &= j < static_cast<decltype(j)>(want) ? other < own : other <= own;
    });
    best = reduce_lanes<kLanes>(best, [](bool a, bool b) { return a && b; });
    const Accumulator<T> level = row.log_sum_exp();
    if (at.valid && threadIdx.x % kLanes == 0)
      mine = mine + (at.in_range ? Sums{best ? 1. : 0., static_cast<double>(level - own)} : Sums{0, NAN});
  }
  const Sums own = block_sum<kThreads>(mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = own;
  if (!is_last_block(arrived, gridDim.x)) return;
  for (set = 0; set < sets.number; ++set) {
    Sums sum{0, 0};
    constexpr int kMost = ceil_div(LossConfig::kMaxBlocks, static_cast<std::int64_t>(kThreads));
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

// How often each node is in the index: adds to zeros. A node or label out of range is reported, and the node
// is not counted. Grid (ceil(count / kThreads)), block kThreads.
__global__ void __launch_bounds__(kThreads)
    count_nodes_kernel(const __grid_constant__ Limits limits, const std::int64_t* label,
                       const std::int64_t* index, std::int64_t count, int* times) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t node = index[i];
  if (!is_index(node, limits.nodes, i, limits.index)) return;
  if (is_index(label[node], limits.classes, node, limits.label)) atomicAdd(times + node, 1);
}

// Writes all rows: zeros for a node that is not in the index, m equal terms for one that is there m times.
// Grid (blocks), block kThreads, kOfRow lanes a node; all lanes of a warp make the same number of steps.
template <class T, int kOfRow>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 2 : 4)
    cross_entropy_backward_kernel(const Accumulator<T>* dloss, const T* logits, std::int64_t nodes,
                                  std::int64_t c, const std::int64_t* label, const int* times,
                                  std::int64_t count, T* dlogits) {
  using Sum = Accumulator<T>;
  const Sum fraction = *dloss / static_cast<Sum>(count);
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * (kThreads / kOfRow);
  for (std::int64_t first = thread / kWarp * (kWarp / kOfRow); first < nodes; first += step) {
    const std::int64_t own = first + threadIdx.x % kWarp / kOfRow;
    const bool valid = own < nodes;
    const std::int64_t node = valid ? own : 0;
    const int of_node = valid ? times[node] : 0;
    T* const out = dlogits + node * c;
    if (!__any_sync(kFullMask, of_node > 0)) {
      for (std::int64_t j = threadIdx.x % kOfRow; valid && j < c; j += kOfRow)
        out[j] = static_cast<T>(Sum(0));
      continue;
    }
    const ScoreRow<T, kOfRow> row(logits + node * c, c);
    const Sum shift = row.log_sum_exp();
    const std::int64_t want = of_node > 0 ? label[node] : -1;
    row.each([&](auto j, Sum score) {
      if (!valid || j >= static_cast<decltype(j)>(c)) return;
      const Sum softmax = exp(score - shift);
      const Sum term = fraction * (j == static_cast<decltype(j)>(want) ? softmax - 1 : softmax);
      out[j] = static_cast<T>(of_node > 0 ? static_cast<Sum>(of_node) * term : Sum(0));
    });
  }
}

Limits limits_of(const char* op, const Tensor& scores) {
  return {scores.dim(0), scores.dim(1), index_check(scores.device(), op, "index"),
          index_check(scores.device(), op, "label")};
}

void launch_metrics(const char* op, const Tensor& scores, const Tensor& label,
                    const std::vector<Tensor>& given, const Tensor& metrics, const Tensor& loss) {
  Sets sets{};
  for (const Tensor& index : given) {
    const int s = sets.number++;
    sets.index[s] = index.data<std::int64_t>();
    sets.count[s] = index.numel();
    sets.first_block[s + 1] = sets.first_block[s] + choose_loss_blocks(index.numel());
  }
  const std::int64_t blocks = sets.first_block[sets.number];
  if (blocks == 0) return metrics.fill(0);  // no set has a node
  const Tensor partial = Tensor::empty({blocks, 2}, DType::kF64, scores.device());
  dispatch_float(scores.dtype(), "node_metrics", [&]<class T>(T) {
    launch("node_metrics", scores.device(), node_metrics_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(blocks)), kThreads, 0, device_data<T>(scores), limits_of(op, scores),
           label.data<std::int64_t>(), sets, reinterpret_cast<Sums*>(partial.data<double>()),
           Context::of(scores.device()).zeroed_counters(1),
           metrics.defined() ? metrics.data<double>() : nullptr, device_data<Accumulator<T>>(loss));
  });
}

}  // namespace

void cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& index, const Tensor& loss) {
  launch_metrics("cross_entropy", logits, label, {index}, {}, loss);
}

void cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& label,
                            const Tensor& index, const Tensor& dlogits) {
  const Device device = dlogits.device();
  const std::int64_t nodes = logits.dim(0), count = index.numel();
  const Tensor times = Tensor::zeros({nodes}, DType::kI32, device);
  launch("cross_entropy_backward", device, count_nodes_kernel,
         dim3(static_cast<unsigned>(ceil_div(count, static_cast<std::int64_t>(kThreads)))), kThreads, 0,
         limits_of("cross_entropy", logits), label.data<std::int64_t>(), index.data<std::int64_t>(), count,
         times.data<std::int32_t>());
  dispatch_float(logits.dtype(), "cross_entropy", [&]<class T>(T) {
    const auto run = [&]<int kOfRow>(std::integral_constant<int, kOfRow>) {
      launch("cross_entropy_backward", device, cross_entropy_backward_kernel<device_t<T>, kOfRow>,
             dim3(static_cast<unsigned>(choose_loss_blocks(nodes * kOfRow / kLanes))), kThreads, 0,
             dloss.data<Accumulator<T>>(), device_data<T>(logits), nodes, logits.dim(1),
             label.data<std::int64_t>(), times.data<std::int32_t>(), count, device_data<T>(dlogits));
    };
    // A warp for a row that 8 lanes cannot hold: its lines stay in the L1 cache for the second and third
    // pass.
    if (logits.dim(1) <= ScoreRow<device_t<T>>::kMostHeld)
      run(std::integral_constant<int, kLanes>{});
    else
      run(std::integral_constant<int, kWarp>{});
  });
}

void node_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets,
                  const Tensor& metrics) {
  launch_metrics("node_metrics", scores, label, sets, metrics, {});
}

}  // namespace rodeo::kernels::cuda
