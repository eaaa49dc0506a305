// Dropout of edge weights [edges, heads] (ops/edge_dropout.h). A thread has one edge and four heads, which
// share a Philox call. It finds the edge's row by binary search in the row pointers.
#include "ops/edge_dropout.h"

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/attention.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t row_of_edge(const std::int64_t* row_ptr, std::int64_t rows, std::int64_t edge) {
  std::int64_t low = 0, high = rows;  // the last row that begins at or before the edge
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (row_ptr[middle] <= edge ? low : high) = middle;
  }
  return low;
}

/// Philox calls for the heads of an edge.
__host__ __device__ int num_quads(int first_head, int heads) {
  return (first_head + heads + 3) / 4 - first_head / 4;
}

// Grid-stride over (edge, quad of heads), block kThreads.
template <class T>
__global__ void edge_dropout_kernel(const std::int64_t* row_ptr, const std::int32_t* col, std::int64_t rows,
                                    std::int64_t edges, int heads, int first_head, const T* x,
                                    std::uint32_t threshold, Accumulator<T> scale, RandomKey key, T* y) {
  const int first_quad = first_head / 4, quads = num_quads(first_head, heads);
  RODEO_GRID_STRIDE(i, edges * quads) {
    const std::int64_t edge = i / quads;
    const int quad = first_quad + static_cast<int>(i % quads);
    const Philox4 random =
        edge_words(key, static_cast<std::uint32_t>(row_of_edge(row_ptr, rows, edge)),
                   static_cast<std::uint32_t>(col[edge]), static_cast<std::uint32_t>(quad));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int head = quad * 4 + k - first_head;
      if (head < 0 || head >= heads) continue;
      const std::int64_t at = edge * heads + head;
      y[at] =
          static_cast<T>(dropout_keeps(random.word[k], threshold) ? widen(x[at]) * scale : Accumulator<T>(0));
    }
  }
}

}  // namespace

void edge_dropout(const Csr& a, const Tensor& x, double p, RandomKey key, std::int64_t first_head,
                  const Tensor& y) {
  dispatch_float(x.dtype(), "edge_dropout", [&]<class T>(T) {
    using D = device_t<T>;
    const auto heads = static_cast<int>(x.dim(1)), first = static_cast<int>(first_head);
    launch("edge_dropout", y.device(), edge_dropout_kernel<D>,
           grid_for(x.dim(0) * num_quads(first, heads), kThreads), kThreads, 0,
           a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows, x.dim(0), heads, first,
           device_data<T>(x), dropout_threshold(p), static_cast<Accumulator<D>>(1 / (1 - p)), key,
           device_data<T>(y));
  });
}

}  // namespace rodeo::kernels::cuda
