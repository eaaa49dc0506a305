// The id of edge (col, row) for every edge (row, col), by binary search in the sorted row `col`. Needs no
// memory besides the result; sorting the edges again would take 16 bytes an edge.
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;
constexpr int kThreads = 256;

__device__ std::int64_t first_at_least(const std::int32_t* col, std::int64_t low, std::int64_t high,
                                       std::int64_t value) {
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (col[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The k-th of several equal edges is the reverse of the k-th. Grid (rows / warps of a block), block kThreads,
// a warp a row.
__global__ void reverse_edges_kernel(const std::int64_t* row_ptr, const std::int32_t* col, std::int64_t rows,
                                     std::int64_t* ids, std::int32_t* missing) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
  for (std::int64_t e = begin + threadIdx.x % kWarp; e < end; e += kWarp) {
    const std::int64_t other = col[e];
    const bool repeated = e > begin && col[e - 1] == other;
    const std::int64_t before = repeated ? e - first_at_least(col, begin, e, other) : 0;
    const std::int64_t other_end = row_ptr[other + 1];
    const std::int64_t at = first_at_least(col, row_ptr[other], other_end, row) + before;
    if (at >= other_end || col[at] != row) {
      *missing = 1;
      return;
    }
    if (ids) ids[e] = at;
  }
}

// Grid and block as above; one atomic a warp.
__global__ void one_way_kernel(const std::int64_t* row_ptr, const std::int32_t* col, std::int64_t rows,
                               unsigned long long* count) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  int missing = 0;
  for (std::int64_t e = row_ptr[row] + threadIdx.x % kWarp; e < row_ptr[row + 1]; e += kWarp) {
    const std::int64_t other = col[e], other_end = row_ptr[other + 1];
    const std::int64_t at = first_at_least(col, row_ptr[other], other_end, row);
    missing += other != row && (at >= other_end || col[at] != row);
  }
  missing = sum_over(missing);
  if (threadIdx.x % kWarp == 0 && missing > 0) atomicAdd(count, static_cast<unsigned long long>(missing));
}

}  // namespace

std::int64_t count_one_way_edges(const Csr& a) {
  const Device device = a.col.device();
  const Tensor count = Tensor::zeros({}, DType::kI64, device);
  launch("count_one_way_edges", device, one_way_kernel,
         dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows,
         static_cast<unsigned long long*>(count.raw()));
  return count.to_vector<std::int64_t>()[0];
}

bool reverse_edges(const Csr& a, const Tensor& ids) {
  const Device device = a.col.device();
  const Tensor missing = Tensor::zeros({}, DType::kI32, device);
  launch("reverse_edges", device, reverse_edges_kernel,
         dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows,
         ids.defined() ? ids.data<std::int64_t>() : nullptr, missing.data<std::int32_t>());
  return missing.to_vector<std::int32_t>()[0] == 0;
}

}  // namespace rodeo::kernels::cuda
