// The first columns of a matrix (ops/select_columns.h): a warp a row.
#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t warp_row() {
  return (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
}

dim3 grid_of_rows(std::int64_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kThreads / kWarp)));
}

// Grids grid_of_rows(rows), block kThreads. All lanes of a warp have one row.
__global__ void count_kernel(const std::int64_t* begin, const std::int32_t* col, std::int64_t rows,
                             std::int64_t cols, std::int64_t* counts) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  std::int64_t count = 0;
  for (std::int64_t e = begin[row]; e < begin[row + 1]; e += kWarp)
    count += __popc(__ballot_sync(kFullMask, e + lane < begin[row + 1] && col[e + lane] < cols));
  if (lane == 0) counts[row] = count;
}

__global__ void copy_kernel(const std::int64_t* begin, const std::int32_t* col, std::int64_t rows,
                            std::int64_t cols, const std::int64_t* row_ptr, std::int32_t* out,
                            std::int64_t* ids) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  std::int64_t at = row_ptr[row];
  for (std::int64_t e = begin[row]; e < begin[row + 1]; e += kWarp) {
    const bool exists = e + lane < begin[row + 1];
    const std::int32_t from = exists ? col[e + lane] : 0;
    const bool kept = exists && from < cols;
    const unsigned all = __ballot_sync(kFullMask, kept);
    const std::int64_t to = at + __popc(all & ((1u << lane) - 1));
    if (kept) out[to] = from, ids[to] = e + lane;
    at += __popc(all);
  }
}

}  // namespace

void count_first_columns(const Csr& a, std::int64_t cols, const Tensor& row_ptr) {
  launch("count_first_columns", row_ptr.device(), count_kernel, grid_of_rows(a.rows), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows, cols,
         row_ptr.data<std::int64_t>());
  exclusive_scan(row_ptr);
}

void copy_first_columns(const Csr& a, std::int64_t cols, const Tensor& row_ptr, const Tensor& col,
                        const Tensor& edge_ids) {
  launch("copy_first_columns", col.device(), copy_kernel, grid_of_rows(a.rows), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows, cols,
         row_ptr.data<std::int64_t>(), col.data<std::int32_t>(), edge_ids.data<std::int64_t>());
}

}  // namespace rodeo::kernels::cuda
