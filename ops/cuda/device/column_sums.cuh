/// Sums over the rows of a matrix in one launch, in an order that the grid alone decides.
///
/// Grid (column tiles, chunks of rows), block (groups of kVec columns, rows). A thread sums kVec columns over
/// its rows of the chunk, several at a time, for what counts is how many are under way; a block adds its
/// threads up, leaves that in `partial`, and the block of a column tile that finishes last adds the chunks
/// up, in order.
#pragma once

#include <algorithm>

#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"

namespace rodeo::kernels::cuda {

constexpr int kColumnSumThreads = 256;

/// Threads for so many groups of columns: all of a block's are at work where it can be, and a row is read in
/// whole lines.
inline std::int64_t column_sum_width(std::int64_t groups) {
  return ceil_div(groups, ceil_div(groups, static_cast<std::int64_t>(kWarp)));
}

/// How many threads, chunks and bytes: the same for the same sizes, so that results are.
struct ColumnSumsGrid {
  dim3 grid, block;
  std::int64_t chunk;  // rows

  /// A thread has `batch` rows under way. So few chunks that the last block has a short way to go, and enough
  /// for two blocks on each multiprocessor.
  ColumnSumsGrid(std::int64_t rows, std::int64_t groups, std::int64_t width, int batch) {
    constexpr std::int64_t kMaxChunks = 256;
    block = dim3(static_cast<unsigned>(width), static_cast<unsigned>(kColumnSumThreads / width));
    chunk = std::max<std::int64_t>(block.y * batch, ceil_div(rows, kMaxChunks));
    grid = dim3(static_cast<unsigned>(ceil_div(groups, width)), static_cast<unsigned>(ceil_div(rows, chunk)));
  }
};

/// The rows that a block adds up.
struct ColumnSumsChunk {
  std::int64_t begin, end;
  __device__ ColumnSumsChunk(std::int64_t chunk, std::int64_t rows)
      : begin(blockIdx.y * chunk), end(begin + chunk < rows ? begin + chunk : rows) {}
};

/// The sums of all threads of a column, for those of row 0.
template <class Sum, int kCount>
__device__ void sum_over_block_rows(Sum (&sum)[kCount]) {
  __shared__ Sum shared[kCount][kColumnSumThreads];
  const unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();  // an earlier call's have been read
#pragma unroll
  for (int v = 0; v < kCount; ++v) shared[v][own] = sum[v];
  for (unsigned rows = blockDim.y; rows > 1;) {
    const unsigned half = (rows + 1) / 2;
    __syncthreads();
    if (threadIdx.y < rows - half)
#pragma unroll
      for (int v = 0; v < kCount; ++v) shared[v][own] += shared[v][own + half * blockDim.x];
    rows = half;
  }
#pragma unroll
  for (int v = 0; v < kCount; ++v) sum[v] = shared[v][own];
}

/// From the sums of a thread to those of whole columns, which the threads have for which it returns true.
/// Called by all threads of the block; `group` is at or past `groups` for those without columns. partial
/// [chunks, groups, kCount]; arrived [column tiles], zero, and left so.
template <class Sum, int kCount>
__device__ bool finish_column_sums(Sum (&sum)[kCount], std::int64_t group, std::int64_t groups, Sum* partial,
                                   int* arrived) {
  struct Sums {
    Sum value[kCount];
  };
  const bool inside = group < groups;
  sum_over_block_rows(sum);
  if (gridDim.y == 1) return threadIdx.y == 0 && inside;
  if (threadIdx.y == 0 && inside)
#pragma unroll
    for (int v = 0; v < kCount; ++v) partial[(blockIdx.y * groups + group) * kCount + v] = sum[v];
  __syncthreads();
  if (!is_last_block(arrived + blockIdx.x, gridDim.y)) return false;
  constexpr int kBatch = std::clamp<int>(256 / sizeof(Sums), 1, 16);
#pragma unroll
  for (int v = 0; v < kCount; ++v) sum[v] = 0;
  for (unsigned begin = threadIdx.y; begin < gridDim.y; begin += kBatch * blockDim.y) {
    Sums chunk[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const unsigned at = begin + b * blockDim.y;
      chunk[b] = Sums{};
      if (inside && at < gridDim.y)
        chunk[b] = load_from_l2(reinterpret_cast<const Sums*>(partial) + at * groups + group);
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b)
#pragma unroll
      for (int v = 0; v < kCount; ++v) sum[v] += chunk[b].value[v];
  }
  sum_over_block_rows(sum);
  return threadIdx.y == 0 && inside;
}

}  // namespace rodeo::kernels::cuda
