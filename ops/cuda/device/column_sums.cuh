/// Sums over the rows of a matrix in one launch, in an order that depends on the sizes alone.
///
/// Grid (column tiles, chunks of rows), block (groups of kVec columns, rows). A thread sums kVec columns over
/// its rows of the chunk, several rows in flight. The block reduces the sums of its threads and writes them
/// to `partial`. The last block of a column tile to finish adds the chunks in order.
#pragma once

#include <algorithm>

#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/plan/dense_config.h"

namespace rodeo::kernels::cuda {

constexpr int kColumnSumThreads = ColumnSumsConfig::kThreads;

inline dim3 grid_of(const ColumnSumsConfig& config) {
  return dim3(static_cast<unsigned>(config.column_tiles), static_cast<unsigned>(config.chunks));
}
inline dim3 block_of(const ColumnSumsConfig& config) {
  return dim3(static_cast<unsigned>(config.width), static_cast<unsigned>(config.block_rows));
}

/// The rows of this block's chunk.
struct ColumnSumsChunk {
  std::int64_t begin, end;
  __device__ ColumnSumsChunk(std::int64_t chunk, std::int64_t rows)
      : begin(blockIdx.y * chunk), end(begin + chunk < rows ? begin + chunk : rows) {}
};

/// Sums over the rows of the block. Threads of row 0 have the result.
template <class Sum, int kCount>
__device__ void sum_over_block_rows(Sum (&sum)[kCount]) {
  __shared__ Sum shared[kCount][kColumnSumThreads];
  const unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
  __syncthreads();  // after the reads of an earlier call
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

/// Turns the sums of a thread into sums of whole columns. Returns true in the threads that have one: row 0 of
/// the last block of a column tile. All threads of the block call it; threads without columns pass a `group`
/// of at least `groups`. partial [chunks, groups, kCount]; arrived [column tiles], see last_block.cuh.
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
