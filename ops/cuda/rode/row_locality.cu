// Common columns of consecutive rows on the GPU (ops/plan/row_locality.h), equal to those of the host.
#include "ops/plan/row_locality.h"

#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/graph.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

namespace {

constexpr int kThreads = 256;
constexpr int kWords = (1 << RowLocality::kSlotBits) / 32;

// grid kWindows, block kThreads: a block per window. out: sampled, distinct.
__global__ void row_locality_kernel(const std::int64_t* row_ptr, const std::int32_t* col,
                                    const std::int32_t* order, std::int64_t rows, RowLocality::Window window,
                                    unsigned long long* out) {
  __shared__ unsigned seen[kWords];
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kThreads) seen[i] = 0;
  __syncthreads();
  const std::int64_t first = RowLocality::first_row(static_cast<int>(blockIdx.x), rows, window.rows);
  unsigned sampled = 0, distinct = 0;
  for (int i = static_cast<int>(threadIdx.x); i < window.rows * window.samples; i += kThreads) {
    const std::int64_t at = first + i / window.samples;
    if (at >= rows) break;
    const std::int64_t row = order ? order[at] : at, begin = row_ptr[row], length = row_ptr[row + 1] - begin;
    const int sample = i % window.samples;
    if (sample >= length) continue;
    const std::uint32_t slot =
        RowLocality::slot(col[begin + RowLocality::sample(length, window.samples, sample)]);
    atomicOr(seen + slot / 32, 1U << slot % 32);
    ++sampled;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kThreads)
    distinct += static_cast<unsigned>(__popc(seen[i]));
  sampled = sum_over(sampled), distinct = sum_over(distinct);
  if (threadIdx.x % kWarp == 0) {
    atomicAdd(out, sampled);
    atomicAdd(out + 1, distinct);
  }
}

/// The rows, cluster by cluster.
Tensor order_of(const Tensor& cluster) {
  const Device device = cluster.device();
  const std::int64_t n = cluster.numel();
  const Tensor row = Tensor::empty({n}, DType::kI32, device), order = Tensor::empty({n}, DType::kI32, device),
               sorted = Tensor::empty({n}, DType::kU8, device);
  number_ids({}, 0, 1, row);
  with_scratch("sort", device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, cluster.data<std::uint8_t>(),
                                           sorted.data<std::uint8_t>(), row.data<std::int32_t>(),
                                           order.data<std::int32_t>(), n, 0, 8, Context::of(device).stream());
  });
  return order;
}

}  // namespace

RowLocality row_locality(const Csr& a, const Tensor& cluster, const RowLocality::Window& window) {
  const Tensor order = cluster.defined() ? order_of(cluster) : Tensor();
  const Tensor out = Tensor::zeros({2}, DType::kI64, a.col.device());
  launch("row_locality", out.device(), row_locality_kernel, dim3(RowLocality::kWindows), dim3(kThreads), 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(),
         static_cast<const std::int32_t*>(order.raw()), a.rows, window,
         reinterpret_cast<unsigned long long*>(out.data<std::int64_t>()));
  const auto counts = out.to_vector<std::int64_t>();
  return {counts[0], counts[1]};
}

}  // namespace rodeo::kernels::cuda
