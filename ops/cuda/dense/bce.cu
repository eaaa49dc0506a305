// Binary cross-entropy with logits over several labels, and its F1 score (ops/bce.h).
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kParts = 512;  // blocks of the first pass and threads of the second: fixes the order of sums

// Sums of the loss, of true positives, and of predicted plus actual positives. Counts are exact in f64. Grid
// kParts, block kThreads, grid-stride over the labels.
template <class T>
__global__ void bce_parts_kernel(const T* x, const std::uint8_t* target, const std::int64_t* index,
                                 std::int64_t rows, std::int64_t c, std::int64_t count, double* parts,
                                 IndexCheck check) {
  double sum = 0, right = 0, either = 0;
  RODEO_GRID_STRIDE(i, count) {
    const std::int64_t node = index[i / c], at = node * c + i % c;
    if (!is_index(node, rows, i / c, check)) {
      sum = NAN;
      continue;
    }
    const double v = widen(x[at]);
    const bool yes = v > 0, wanted = target[at] != 0;
    const double term = fmax(v, 0.0) - (wanted ? v : 0.0) + log1p(exp(-fabs(v)));
    sum += v != v ? v : term;  // fmax ignores NaN
    right += yes && wanted, either += yes + wanted;
  }
  sum = block_sum<kThreads>(sum);
  right = block_sum<kThreads>(right);
  either = block_sum<kThreads>(either);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    parts[kParts + blockIdx.x] = right;
    parts[2 * kParts + blockIdx.x] = either;
  }
}

// Adds the parts. One block of kParts threads. loss and metrics may be null.
template <class Value>
__global__ void bce_total_kernel(const double* parts, double labels, Value* loss, double* metrics) {
  const double sum = block_sum<kParts>(parts[threadIdx.x]);
  const double right = block_sum<kParts>(parts[kParts + threadIdx.x]);
  const double either = block_sum<kParts>(parts[2 * kParts + threadIdx.x]);
  if (threadIdx.x > 0) return;
  if (loss) *loss = static_cast<Value>(sum / labels);
  if (metrics) {
    metrics[0] = right > 0 ? 2 * right / either : 0;
    metrics[1] = labels > 0 ? sum / labels : 0;
  }
}

// One thread per label, grid-stride. A node that occurs m times gets m equal terms, so the order of the
// atomics does not change the sum. The forward kernel has reported nodes out of range.
template <class T>
__global__ void bce_backward_kernel(const Accumulator<T>* dloss, const T* x, const std::uint8_t* target,
                                    const std::int64_t* index, std::int64_t rows, std::int64_t c,
                                    std::int64_t count, T* dx) {
  using A = Accumulator<T>;
  const A scale = *dloss / (static_cast<A>(count / c) * static_cast<A>(c));
  RODEO_GRID_STRIDE(i, count) {
    const std::int64_t node = index[i / c], at = node * c + i % c;
    if (node < 0 || node >= rows) continue;
    const A sigmoid = 1 / (1 + exp(-widen(x[at])));
    atomicAdd(dx + at, static_cast<T>(scale * (sigmoid - static_cast<A>(target[at]))));
  }
}

// Writes the mean loss to `loss`, or F1 and the mean loss to `metrics`. The other one is null.
template <class T>
void launch_bce(const char* op, const Tensor& x, const Tensor& target, const Tensor& index,
                Accumulator<T>* loss, double* metrics) {
  const Tensor parts = Tensor::empty({3, kParts}, DType::kF64, x.device());
  const std::int64_t count = index.numel() * x.dim(1);
  launch("bce_with_logits", x.device(), bce_parts_kernel<device_t<T>>, dim3(kParts), kThreads, 0,
         device_data<T>(x), target.data<std::uint8_t>(), index.data<std::int64_t>(), x.dim(0), x.dim(1),
         count, parts.data<double>(), index_check(x.device(), op, "index"));
  launch("bce_with_logits", x.device(), bce_total_kernel<Accumulator<T>>, dim3(1), kParts, 0,
         parts.data<double>(), static_cast<double>(count), loss, metrics);
}

}  // namespace

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss) {
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    launch_bce<T>("bce_with_logits", x, target, index, loss.data<Accumulator<T>>(), nullptr);
  });
}

void bce_with_logits_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& index,
                              const Tensor& dx) {
  dx.fill(0);
  const std::int64_t count = index.numel() * x.dim(1);
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    launch("bce_with_logits_backward", x.device(), bce_backward_kernel<device_t<T>>,
           grid_for(count, kThreads), kThreads, 0, dloss.data<Accumulator<T>>(), device_data<T>(x),
           target.data<std::uint8_t>(), index.data<std::int64_t>(), x.dim(0), x.dim(1), count,
           device_data<T>(dx));
  });
}

void label_metrics(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& metrics) {
  dispatch_float(x.dtype(), "label_metrics", [&]<class T>(T) {
    launch_bce<T>("label_metrics", x, target, index, static_cast<Accumulator<T>*>(nullptr),
                  metrics.data<double>());
  });
}

}  // namespace rodeo::kernels::cuda
