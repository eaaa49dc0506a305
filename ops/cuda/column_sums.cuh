/// Sums over the rows of a matrix in one launch, in an order that the grid alone decides.
///
/// Grid (column tiles, chunks of rows), block (columns / kVec, rows), blockDim.y a power of two. A thread
/// sums kVec columns over its rows of the chunk; a block adds its threads up, leaves that in `partial`, and
/// the block of a column tile that finishes last adds the chunks up, in order.
#pragma once

#include <algorithm>
#include <bit>

#include "ops/cuda/pack.cuh"

namespace rodeo::kernels::cuda {

constexpr int kColumnSumThreads = 256;

/// How many threads, chunks and bytes: the same for the same sizes, so that results are.
struct ColumnSumsGrid {
  dim3 grid, block;
  std::int64_t chunk;  // rows

  /// `groups`: columns / kVec. So few chunks that the last block has a short way to go.
  ColumnSumsGrid(std::int64_t rows, std::int64_t groups) {
    constexpr std::int64_t kMinChunk = 32, kMaxChunks = 512;
    const auto width = static_cast<unsigned>(
        std::min<std::uint64_t>(kWarp, std::bit_ceil(static_cast<std::uint64_t>(groups))));
    block = dim3(width, kColumnSumThreads / width);
    chunk = std::max(kMinChunk, ceil_div(rows, kMaxChunks));
    grid = dim3(static_cast<unsigned>(ceil_div(groups, width)), static_cast<unsigned>(ceil_div(rows, chunk)));
  }
};

/// The sums of all threads of a column, for those of row 0.
template <class Sum, int kCount>
__device__ void sum_over_block_rows(Sum (&sum)[kCount]) {
  __shared__ Sum shared[kColumnSumThreads * kCount];
  Sum* const mine = shared + (threadIdx.y * blockDim.x + threadIdx.x) * kCount;
  __syncthreads();  // an earlier call's have been read
#pragma unroll
  for (int v = 0; v < kCount; ++v) mine[v] = sum[v];
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half)
#pragma unroll
      for (int v = 0; v < kCount; ++v) mine[v] += mine[half * blockDim.x * kCount + v];
  }
#pragma unroll
  for (int v = 0; v < kCount; ++v) sum[v] = mine[v];
}

/// From the sums of a thread to those of whole columns, which the threads have for which it returns true.
/// Called by all threads of the block; `group` is at or past `groups` for those without columns. partial
/// [chunks, groups, kCount]; arrived [column tiles], zero, and left so.
template <class Sum, int kCount>
__device__ bool finish_column_sums(Sum (&sum)[kCount], std::int64_t group, std::int64_t groups, Sum* partial,
                                   int* arrived) {
  __shared__ bool last;
  const bool inside = group < groups;
  sum_over_block_rows(sum);
  if (threadIdx.y == 0 && inside)
#pragma unroll
    for (int v = 0; v < kCount; ++v) partial[(blockIdx.y * groups + group) * kCount + v] = sum[v];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    last = atomicAdd(arrived + blockIdx.x, 1) == static_cast<int>(gridDim.y) - 1;
  __syncthreads();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int v = 0; v < kCount; ++v) sum[v] = 0;
  if (inside)
#pragma unroll 8
    for (std::int64_t c = threadIdx.y; c < gridDim.y; c += blockDim.y)
#pragma unroll
      for (int v = 0; v < kCount; ++v) sum[v] += __ldcg(partial + (c * groups + group) * kCount + v);
  sum_over_block_rows(sum);
  if (threadIdx.x == 0 && threadIdx.y == 0) arrived[blockIdx.x] = 0;
  return threadIdx.y == 0 && inside;
}

}  // namespace rodeo::kernels::cuda
