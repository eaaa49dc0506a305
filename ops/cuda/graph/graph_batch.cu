// Graphs of a block-diagonal graph as a new one (ops/graph_batch.h): a warp a row.
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/graph_batch.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid ceil(rows / warps of a block), block kThreads. places [4, stride].
__global__ void block_diagonal_kernel(const std::int64_t* all_ptr, const std::int32_t* all_col,
                                      const std::int64_t* places, std::int64_t stride, std::int64_t rows,
                                      std::int64_t* node, std::int64_t* row_ptr, std::int32_t* col,
                                      std::int64_t* id) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  std::int64_t low = 0, high = stride - 1;  // the last graph that begins at or before the row
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (places[middle] <= row ? low : high) = middle;
  }
  const std::int64_t from = row - places[low] + places[2 * stride + low];
  const std::int64_t shift = row - from, edge_shift = places[stride + low] - places[3 * stride + low];
  const std::int64_t begin = all_ptr[from], end = all_ptr[from + 1];
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t e = begin + lane; e < end; e += kWarp) {
    col[e + edge_shift] = static_cast<std::int32_t>(all_col[e] + shift);
    id[e + edge_shift] = e;
  }
  if (lane > 0) return;
  node[row] = from;
  row_ptr[row] = begin + edge_shift;
  if (row + 1 == rows) row_ptr[rows] = end + edge_shift;
}

}  // namespace

void block_diagonal(const Csr& all, const Tensor& places, const Tensor& nodes, const Csr& batch,
                    const Tensor& edge_ids) {
  launch("block_diagonal", nodes.device(), block_diagonal_kernel,
         dim3(static_cast<unsigned>(ceil_div(batch.rows * kWarp, kThreads))), kThreads, 0,
         all.row_ptr.data<std::int64_t>(), all.col.data<std::int32_t>(), places.data<std::int64_t>(),
         places.dim(1), batch.rows, nodes.data<std::int64_t>(), batch.row_ptr.data<std::int64_t>(),
         batch.col.data<std::int32_t>(), edge_ids.data<std::int64_t>());
}

}  // namespace rodeo::kernels::cuda
