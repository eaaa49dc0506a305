/// Sums over the rows of a matrix in two launches: the chunks of rows, then the chunks' sums in order. For
/// sums whose terms or results are functions of the position.
#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "ops/cuda/device/pack.cuh"

namespace rodeo::kernels::cuda {

template <class Sum, int kSums>
struct Sums {
  Sum value[kSums];
};

constexpr int kSumColumns = 32, kSumRows = 8;

/// add(i, j, sums) adds element (i, j) of [m, n]; finish(chunk, j, sums) takes the sums of a chunk's column.
/// Grid (column tiles, chunks of `chunk` rows), block (kSumColumns, kSumRows).
template <class Sum, int kSums, class Add, class Finish>
__global__ void column_sums_kernel(Add add, Finish finish, std::int64_t m, std::int64_t n,
                                   std::int64_t chunk) {
  __shared__ Sums<Sum, kSums> shared[kSumRows][kSumColumns];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSumColumns + threadIdx.x;
  const std::int64_t begin = blockIdx.y * chunk, end = begin + chunk < m ? begin + chunk : m;
  Sums<Sum, kSums> sums{};
  if (column < n)
    for (std::int64_t i = begin + threadIdx.y; i < end; i += kSumRows) add(i, column, sums);
  shared[threadIdx.y][threadIdx.x] = sums;
  __syncthreads();
  if (threadIdx.y > 0 || column >= n) return;
#pragma unroll
  for (int r = 1; r < kSumRows; ++r)
#pragma unroll
    for (int s = 0; s < kSums; ++s) sums.value[s] += shared[r][threadIdx.x].value[s];
  finish(static_cast<std::int64_t>(blockIdx.y), column, sums);
}

/// Writes the sums of a chunk; reads them back.
template <class Sum, int kSums>
struct WritePartial {
  Sums<Sum, kSums>* at;  // [chunks, n]
  std::int64_t n;
  __device__ void operator()(std::int64_t chunk, std::int64_t j, Sums<Sum, kSums>& sums) const {
    at[chunk * n + j] = sums;
  }
};
template <class Sum, int kSums>
struct AddPartial {
  const Sums<Sum, kSums>* at;
  std::int64_t n;
  __device__ void operator()(std::int64_t chunk, std::int64_t j, Sums<Sum, kSums>& sums) const {
#pragma unroll
    for (int s = 0; s < kSums; ++s) sums.value[s] += at[chunk * n + j].value[s];
  }
};

/// Calls finish(0, j, sums of column j) on the device.
template <class Sum, int kSums, class Add, class Finish>
void two_pass_column_sums(const char* name, Device device, std::int64_t m, std::int64_t n, Add add,
                          Finish finish) {
  constexpr std::int64_t kMinChunk = 64, kMaxChunks = 1024;
  const std::int64_t chunk = std::max(kMinChunk, ceil_div(m, kMaxChunks)), chunks = ceil_div(m, chunk);
  const Tensor memory = Tensor::empty({chunks, n, kSums}, dtype_of<Sum>(), device);
  auto* partial = static_cast<Sums<Sum, kSums>*>(memory.raw());
  const dim3 block(kSumColumns, kSumRows), columns(static_cast<unsigned>(ceil_div(n, kSumColumns)));
  const dim3 grid(columns.x, static_cast<unsigned>(chunks));
  launch(name, device, column_sums_kernel<Sum, kSums, Add, WritePartial<Sum, kSums>>, grid, block, 0, add,
         WritePartial<Sum, kSums>{partial, n}, m, n, chunk);
  launch(name, device, column_sums_kernel<Sum, kSums, AddPartial<Sum, kSums>, Finish>, columns, block, 0,
         AddPartial<Sum, kSums>{partial, n}, finish, chunks, n, chunks);
}

}  // namespace rodeo::kernels::cuda
