// Pairs of nodes without an edge (ops/negative_edges.h): a thread a pair.
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/negative_draw.h"
#include "ops/kernels/pairs.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid-stride over the pairs, block kThreads.
__global__ void negative_edges_kernel(const std::int64_t* row_ptr, const std::int32_t* col, PairRange among,
                                      RandomKey key, std::int64_t count, std::int64_t* src,
                                      std::int64_t* dst) {
  const std::uint64_t stream = key.stream_now();
  RODEO_GRID_STRIDE(i, count) {
    const NegativePair pair = draw_negative(row_ptr, col, among, key.seed, stream, key.first_row + i);
    src[i] = pair.col;
    dst[i] = pair.row;
  }
}

}  // namespace

void negative_edges(const Csr& a, const PairRange& among, RandomKey key, const Tensor& src,
                    const Tensor& dst) {
  launch("negative_edges", src.device(), negative_edges_kernel, grid_for(src.numel(), kThreads), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), among, key, src.numel(),
         src.data<std::int64_t>(), dst.data<std::int64_t>());
}

}  // namespace rodeo::kernels::cuda
