// Copies rows of a CSR matrix (ops/select_rows.h).
#include "core/cuda/launch.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;
constexpr int kThreads = 256;

// Grid (rows / warps of a block), block kThreads, a warp a row.
__global__ void copy_rows_kernel(const std::int64_t* from, const std::int32_t* source,
                                 const std::int64_t* rows, std::int64_t count, const std::int64_t* to,
                                 std::int32_t* target, std::int64_t* ids) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (i >= count) return;
  const std::int64_t shift = from[rows[i]] - to[i], end = to[i + 1];
  for (std::int64_t e = to[i] + threadIdx.x % kWarp; e < end; e += kWarp) {
    target[e] = source[e + shift];
    if (ids) ids[e] = e + shift;
  }
}

}  // namespace

void copy_rows(const Csr& a, const Tensor& rows, const Tensor& row_ptr, const Tensor& col,
               const Tensor& edge_ids) {
  launch("copy_rows", col.device(), copy_rows_kernel,
         dim3(static_cast<unsigned>(ceil_div(rows.numel(), kThreads / kWarp))), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), rows.data<std::int64_t>(), rows.numel(),
         row_ptr.data<std::int64_t>(), col.data<std::int32_t>(), static_cast<std::int64_t*>(edge_ids.raw()));
}

}  // namespace rodeo::kernels::cuda
