// Macro-averaged F1 (ops/macro_f1.h): counts of each class, then their mean.
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

using Count = unsigned long long;  // the type of atomicAdd

// counts [2 c + 1], zeroed: hits, then predicted plus actual nodes of each class, then values out of range.
// Counts are integers, so the order of the atomics does not matter. Grid grid_for(k, kThreads), block
// kThreads, one thread a node.
template <class T>
__global__ void count_classes_kernel(const T* scores, const std::int64_t* label, const std::int64_t* index,
                                     std::int64_t nodes, std::int64_t c, std::int64_t k, Count* counts,
                                     IndexCheck index_check, IndexCheck label_check) {
  RODEO_GRID_STRIDE(i, k) {
    const std::int64_t node = index[i];
    if (!is_index(node, nodes, i, index_check) || !is_index(label[node], c, node, label_check)) {
      atomicAdd(counts + 2 * c, Count{1});
      continue;
    }
    const T* row = scores + node * c;
    Accumulator<T> top = widen(row[0]);
    std::int64_t best = 0;
    bool has_nan = top != top;
    for (std::int64_t j = 1; j < c; ++j) {
      const Accumulator<T> score = widen(row[j]);
      has_nan |= score != score;
      if (score > top) top = score, best = j;
    }
    atomicAdd(counts + c + label[node], Count{1});
    if (has_nan) continue;
    atomicAdd(counts + c + best, Count{1});
    if (best == label[node]) atomicAdd(counts + best, Count{1});
  }
}

// One block of kThreads threads.
__global__ void mean_f1_kernel(const Count* counts, std::int64_t c, double* f1) {
  double sum = 0, classes = 0;
  for (std::int64_t j = threadIdx.x; j < c; j += kThreads) {
    if (counts[c + j] == 0) continue;
    sum += 2 * static_cast<double>(counts[j]) / static_cast<double>(counts[c + j]);
    ++classes;
  }
  sum = block_sum<kThreads>(sum);
  classes = block_sum<kThreads>(classes);
  if (threadIdx.x == 0) *f1 = counts[2 * c] > 0 ? NAN : sum / classes;
}

}  // namespace

void macro_f1(const Tensor& scores, const Tensor& label, const Tensor& index, const Tensor& f1) {
  const std::int64_t c = scores.dim(1), k = index.numel();
  const Tensor counts = Tensor::zeros({2 * c + 1}, DType::kI64, scores.device());
  auto* count = reinterpret_cast<Count*>(counts.data<std::int64_t>());
  dispatch_float(scores.dtype(), "macro_f1", [&]<class T>(T) {
    launch("macro_f1", scores.device(), count_classes_kernel<device_t<T>>, grid_for(k, kThreads), kThreads, 0,
           device_data<device_t<T>>(scores), label.data<std::int64_t>(), index.data<std::int64_t>(),
           scores.dim(0), c, k, count, index_check(scores.device(), "macro_f1", "index"),
           index_check(scores.device(), "macro_f1", "label"));
  });
  launch("macro_f1", scores.device(), mean_f1_kernel, dim3(1), kThreads, 0, count, c, f1.data<double>());
}

}  // namespace rodeo::kernels::cuda
