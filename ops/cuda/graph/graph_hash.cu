// The sum of a hash of (index, value) over an array of integers. Integer sums wrap around, so the result does
// not depend on the order of the atomics.
#include "ops/graph_hash.h"

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;

constexpr int kThreads = 256;

// Grid-stride over n, block kThreads, one atomic a warp.
template <class I>
__global__ void __launch_bounds__(kThreads)
    hash_kernel(const I* values, std::int64_t n, unsigned long long* out) {
  unsigned long long sum = 0;
  RODEO_GRID_STRIDE(i, n) {
    sum += mix(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(values[i]));
  }
  sum = sum_over(sum);
  if (threadIdx.x % kWarp == 0) atomicAdd(out, sum);
}

template <class I>
void launch_hash(const Tensor& values, const Tensor& out) {
  // Few blocks: all warps add to one word.
  const std::int64_t n = values.numel(), blocks = ceil_div(n, kThreads * 16);
  launch("hash_values", values.device(), hash_kernel<I>,
         dim3(static_cast<unsigned>(blocks < 2048 ? blocks : 2048)), dim3(kThreads), 0, values.data<I>(), n,
         static_cast<unsigned long long*>(out.raw()));
}

}  // namespace

std::uint64_t hash_values(const Tensor& values) {
  const Tensor out = Tensor::zeros({1}, DType::kI64, values.device());
  if (values.dtype() == DType::kI64)
    launch_hash<std::int64_t>(values, out);
  else
    launch_hash<std::int32_t>(values, out);
  return static_cast<std::uint64_t>(out.to_vector<std::int64_t>()[0]);
}

}  // namespace rodeo::kernels::cuda
