// Draws of large graphs, an element a thread.
#include "core/cuda/launch.cuh"
#include "tests/bench/large_graph.h"
#include "tests/bench/large_graph_draws.h"

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

}  // namespace rodeo::bench::cuda
