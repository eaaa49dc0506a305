// Draws of large graphs, an element a thread.
#include <cooperative_groups.h>

#include "bench/large_graph.h"
#include "bench/large_graph_draws.h"
#include "core/cuda/launch.cuh"

namespace rodeo::bench::cuda {
namespace {

using namespace rodeo::cuda;

constexpr int kThreads = 256;

__global__ void draw_pairs_kernel(std::int64_t nodes, std::int64_t count, std::int32_t* low,
                                  std::int32_t* high) {
  RODEO_GRID_STRIDE(i, count) {
    const DrawnPair pair = draw_pair(i, nodes);
    low[i] = pair.low, high[i] = pair.high;
  }
}

// Edges in any order: coo_to_csr sorts them. Threads that append together add to the cursor once.
__global__ void draw_edges_kernel(RowDraw rows, std::int32_t* row, std::int32_t* col,
                                  unsigned long long* cursor) {
  RODEO_GRID_STRIDE(i, rows.pairs + rows.count)
  for_edges_of(rows, i, [&](std::int32_t r, std::int32_t c) {
    const auto together = cooperative_groups::coalesced_threads();
    unsigned long long begin = 0;
    if (together.thread_rank() == 0) begin = atomicAdd(cursor, together.size());
    const unsigned long long at = together.shfl(begin, 0) + together.thread_rank();
    if (row) row[at] = r, col[at] = c;
  });
}

__global__ void draw_values_kernel(std::int64_t first, std::int64_t count, float* x) {
  RODEO_GRID_STRIDE(i, count) x[i] = draw_value(first + i);
}

}  // namespace

void draw_pairs(std::int64_t nodes, const Tensor& low, const Tensor& high) {
  launch("draw pairs", low.device(), draw_pairs_kernel, grid_for(low.numel(), kThreads), kThreads, 0, nodes,
         low.numel(), low.data<std::int32_t>(), high.data<std::int32_t>());
}

void draw_values(std::int64_t first, const Tensor& x) {
  launch("draw values", x.device(), draw_values_kernel, grid_for(x.numel(), kThreads), kThreads, 0, first,
         x.numel(), x.data<float>());
}

std::int64_t draw_edges(const RowDraw& rows, std::int32_t* row, std::int32_t* col, Device device) {
  const Tensor cursor = Tensor::zeros({1}, DType::kI64, device);
  launch("draw edges", device, draw_edges_kernel, grid_for(rows.pairs + rows.count, kThreads), kThreads, 0,
         rows, row, col, reinterpret_cast<unsigned long long*>(cursor.data<std::int64_t>()));
  return cursor.to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::bench::cuda
