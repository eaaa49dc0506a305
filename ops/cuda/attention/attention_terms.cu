// What backward passes of attention read of each (row, head): the log-sum-exp and D = <dy, y>.
#include "core/cuda/warp.cuh"
#include "ops/cuda/attention/attention_launch.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/plan/attention_config.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid (rows * heads / (kThreads / lanes)), block kThreads; `lanes` threads share a head. k is a multiple of
// kVec.
template <class T, int kVec>
__global__ void attention_terms_kernel(const T* y, const T* dy, const Accumulator<T>* lse, std::int64_t size,
                                       std::int64_t k, int lanes, Accumulator<T>* terms) {
  using Row = Pack<T, kVec>;
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> (31 - __clz(lanes));
  const int member = static_cast<int>(threadIdx.x) & (lanes - 1);
  Accumulator<T> dot = 0;
  for (std::int64_t j = member * kVec; at < size && j < k; j += lanes * kVec) {
    const auto a = *reinterpret_cast<const Row*>(y + at * k + j),
               b = *reinterpret_cast<const Row*>(dy + at * k + j);
#pragma unroll
    for (int v = 0; v < kVec; ++v) dot += widen(a.value[v]) * widen(b.value[v]);
  }
  dot = sum_over(dot, lanes);
  if (at >= size || member > 0) return;
  terms[at * 2] = lse[at];
  terms[at * 2 + 1] = dot;
}

}  // namespace

Tensor attention_terms(const Tensor& y, const Tensor& dy, const Tensor& lse) {
  const std::int64_t size = y.dim(0) * y.dim(1), k = y.dim(2);
  const Tensor terms = Tensor::empty({y.dim(0), y.dim(1), 2}, lse.dtype(), y.device());
  dispatch_float(y.dtype(), "attention", [&]<class T>(T) {
    using D = device_t<T>;
    const auto run = [&]<int kVec>() {
      const int lanes = lanes_per_head(k, kVec);
      launch("attention terms", y.device(), attention_terms_kernel<D, kVec>,
             dim3(static_cast<unsigned>(ceil_div(size, kThreads / lanes))), dim3(kThreads), 0,
             device_data<T>(y), device_data<T>(dy), lse.data<Accumulator<D>>(), size, k, lanes,
             terms.data<Accumulator<D>>());
    };
    if constexpr (sizeof(D) < 8)
      if (rows_are_aligned(y, k) && is_aligned(dy)) return run.template operator()<16 / sizeof(D)>();
    run.template operator()<1>();
  });
  return terms;
}

}  // namespace rodeo::kernels::cuda
