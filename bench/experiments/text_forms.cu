// The kernels of text_forms.h.
#include <numeric>

#include "bench/experiments/text_forms.h"
#include "core/cuda/warp.cuh"
#include "core/error.h"
#include "ops/cuda/device/tensor_data.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::kernels::cuda;

constexpr int kThreads = 256;

// CSR-vector: kLanes threads a row, whatever its length. grid rows / rows of a block, block kThreads.
template <int kLanes>
__global__ void __launch_bounds__(kThreads)
    vector_kernel(std::int64_t rows, const std::int64_t* row_ptr, const std::int32_t* col,
                  const float* weight, const float* x, float* y) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  float sum = 0;
  if (row < rows)
    for (std::int64_t e = row_ptr[row] + lane; e < row_ptr[row + 1]; e += kLanes)
      sum += weight[e] * x[col[e]];
  __syncwarp();
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(kFullMask, sum, offset);
  if (row < rows && lane == 0) y[row] = sum;
}

// COO, one thread of one block.
__global__ void serial_kernel(std::int64_t nonzeros, const std::int32_t* row, const std::int32_t* col,
                              const float* weight, const float* x, float* y) {
  for (std::int64_t n = 0; n < nonzeros; ++n) y[row[n]] += weight[n] * x[col[n]];
}

// A warp a row. grid rows / warps of a block, block kThreads.
__global__ void __launch_bounds__(kThreads)
    count_kernel(std::int64_t rows, std::int64_t cols, const float* x, std::int64_t* count) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (row >= rows) return;
  std::int64_t nonzeros = 0;
  for (std::int64_t first = 0; first < cols; first += kWarp) {
    const float value = first + lane < cols ? x[row * cols + first + lane] : 0.f;
    nonzeros += __popc(__ballot_sync(kFullMask, value != 0));
  }
  if (lane == 0) count[row] = nonzeros;
}

// A warp a row, with the grid and block of count_kernel. All lanes read; the first one writes through shared
// memory.
__global__ void __launch_bounds__(kThreads)
    fill_kernel(std::int64_t rows, std::int64_t cols, const float* x, const std::int64_t* row_ptr,
                std::int32_t* col, float* weight) {
  __shared__ float staged[kThreads / kWarp][kWarp];
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (row >= rows) return;
  float* const values = staged[threadIdx.x / kWarp];
  std::int64_t at = row_ptr[row];
  for (std::int64_t first = 0; first < cols; first += kWarp) {
    values[lane] = first + lane < cols ? x[row * cols + first + lane] : 0.f;
    __syncwarp();
    if (lane == 0)
      for (int i = 0; i < kWarp; ++i)
        if (values[i] != 0) {
          col[at] = static_cast<std::int32_t>(first + i);
          weight[at++] = values[i];
        }
    __syncwarp();
  }
}

dim3 blocks_of(std::int64_t rows, int lanes) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kThreads / lanes)));
}

}  // namespace

void printed_vector_spmv(const Csr& a, const Tensor& weight, const Tensor& x, int threads, const Tensor& y) {
  const auto run = [&]<int kLanes>() {
    if (threads == kLanes)
      launch("printed_vector", y.device(), vector_kernel<kLanes>, blocks_of(a.rows, kLanes), dim3(kThreads),
             0, a.rows, a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(),
             device_data<float>(weight), device_data<float>(x), device_data<float>(y));
  };
  run.operator()<2>(), run.operator()<4>(), run.operator()<8>(), run.operator()<16>(), run.operator()<32>();
}

void serial_coo_spmv(const EdgeList& edges, const Tensor& weight, const Tensor& x, const Tensor& y) {
  launch("serial_coo", y.device(), serial_kernel, dim3(1), dim3(1), 0, edges.row.numel(),
         edges.row.data<std::int32_t>(), edges.col.data<std::int32_t>(), device_data<float>(weight),
         device_data<float>(x), device_data<float>(y));
}

WeightedAdjacency one_writer_dense_to_csr(const Tensor& x) {
  const std::int64_t rows = x.dim(0), cols = x.dim(1);
  check(x.dtype() == DType::kF32, "[one_writer_dense_to_csr] x must be f32, got ", x.dtype());
  const Tensor count = Tensor::empty({rows}, DType::kI64, x.device());
  launch("count", x.device(), count_kernel, blocks_of(rows, kWarp), dim3(kThreads), 0, rows, cols,
         device_data<float>(x), count.data<std::int64_t>());
  std::vector<std::int64_t> row_ptr = count.to_vector<std::int64_t>();  // counts, then their exclusive scan
  row_ptr.push_back(0);
  std::exclusive_scan(row_ptr.begin(), row_ptr.end(), row_ptr.begin(), std::int64_t{0});
  const Tensor col = Tensor::empty({row_ptr.back()}, DType::kI32, x.device()),
               weight = Tensor::empty({row_ptr.back()}, DType::kF32, x.device()),
               offset = Tensor::from(row_ptr, x.device());
  launch("fill", x.device(), fill_kernel, blocks_of(rows, kWarp), dim3(kThreads), 0, rows, cols,
         device_data<float>(x), offset.data<std::int64_t>(), col.data<std::int32_t>(),
         device_data<float>(weight));
  return {Adjacency::trusted({rows, cols, offset, col}), weight};
}

}  // namespace rodeo::bench
