// Dense matrices to CSR and back (ops/dense_csr.h).
//
// To CSR: a warp counts the nonzeros of a strip of a row by ballots. A scan of the counts gives the offset of
// each strip. A second pass writes every nonzero at the offset plus the number of ballot bits below its lane.
// Strips keep the GPU busy on few long rows, too.
//
// Back: a warp adds a row's edges to a tile of columns in shared memory, 32 at a time, and writes the tile
// once. Duplicates are added in edge order in the accumulator's type.
#include <numeric>
#include <vector>

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kUnroll = 4;  // loads in flight
constexpr std::int64_t kStrip = 4096;
static_assert(kStrip % (kUnroll * kWarp) == 0, "a strip is a whole number of steps");

constexpr int kTileThreads = 128;
constexpr int kTile = 1024;  // accumulators of a warp

__device__ std::int64_t warp_index() {
  return (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
}

dim3 grid_of_warps(std::int64_t warps, int threads) {
  return dim3(static_cast<unsigned>(ceil_div(warps, threads / kWarp)));
}

/// Calls visit(value, column, ballot of nonzeros) for kWarp consecutive elements of a row at a time, in all
/// lanes. Lanes past the end get a zero.
template <class T, class Visit>
__device__ void for_each_ballot(const T* row, std::int64_t begin, std::int64_t end, Visit visit) {
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t base = begin; base < end; base += kUnroll * kWarp) {
    T value[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const std::int64_t j = base + k * kWarp + lane;
      value[k] = j < end ? row[j] : static_cast<T>(0.0f);
    }
#pragma unroll
    for (int k = 0; k < kUnroll; ++k)
      visit(value[k], base + k * kWarp + lane, __ballot_sync(kFullMask, widen(value[k]) != 0));
  }
}

struct Strips {
  std::int64_t cols, per_row, count;
  __device__ std::int64_t row(std::int64_t strip) const { return strip / per_row; }
  __device__ std::int64_t begin(std::int64_t strip) const { return strip % per_row * kStrip; }
  __device__ std::int64_t end(std::int64_t strip) const {
    const std::int64_t full = begin(strip) + kStrip;
    return full < cols ? full : cols;
  }
};

// count_kernel and fill_kernel: grid (strips / warps of a block), block kThreads, a warp a strip.
template <class T>
__global__ void __launch_bounds__(kThreads) count_kernel(const T* x, Strips strips, std::int64_t* counts) {
  const std::int64_t strip = warp_index();
  if (strip >= strips.count) return;
  int count = 0;
  for_each_ballot(x + strips.row(strip) * strips.cols, strips.begin(strip), strips.end(strip),
                  [&](T, std::int64_t, unsigned ballot) { count += __popc(ballot); });
  if (threadIdx.x % kWarp == 0) counts[strip] = count;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(const T* x, Strips strips, const std::int64_t* offsets, std::int32_t* col, T* weight) {
  const std::int64_t strip = warp_index();
  if (strip >= strips.count) return;
  const unsigned own = 1u << threadIdx.x % kWarp;
  std::int64_t at = offsets[strip];
  for_each_ballot(x + strips.row(strip) * strips.cols, strips.begin(strip), strips.end(strip),
                  [&](T value, std::int64_t column, unsigned ballot) {
                    if (ballot & own) {
                      const std::int64_t to = at + __popc(ballot & (own - 1));
                      col[to] = static_cast<std::int32_t>(column);
                      weight[to] = value;
                    }
                    at += __popc(ballot);
                  });
}

__global__ void row_ptr_kernel(const std::int64_t* offsets, std::int64_t per_row, std::int64_t rows,
                               std::int64_t* row_ptr) {
  RODEO_GRID_STRIDE(row, rows + 1) row_ptr[row] = offsets[row * per_row];
}

// Grid (rows * tiles / warps of a block), block kTileThreads, a warp a tile.
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    to_dense_kernel(const std::int64_t* row_ptr, const std::int32_t* col, const T* weight, T* y,
                    std::int64_t rows, std::int64_t cols, std::int64_t tiles) {
  using Sum = Accumulator<T>;
  __shared__ Sum sums[kTileThreads / kWarp][kTile];
  const std::int64_t warp = warp_index();
  if (warp >= rows * tiles) return;
  const int lane = threadIdx.x % kWarp;
  Sum* sum = sums[threadIdx.x / kWarp];
  const std::int64_t row = warp / tiles, first = warp % tiles * kTile;
  const int width = static_cast<int>(cols - first < kTile ? cols - first : kTile);
  for (int j = lane; j < width; j += kWarp) sum[j] = 0;
  __syncwarp();
  const std::int64_t end = row_ptr[row + 1];
  for (std::int64_t base = row_ptr[row]; base < end; base += kWarp) {
    const std::int64_t e = base + lane, offset = e < end ? col[e] - first : -1;
    const bool here = offset >= 0 && offset < width;
    const int j = here ? static_cast<int>(offset) : -1;
    const Sum term = !here ? Sum(0) : weight ? Sum(widen(weight[e])) : Sum(1);
    // Lanes with the same column take turns, in edge order.
    const int turn = __popc(__match_any_sync(kFullMask, j) & ((1u << lane) - 1));
    for (int now = 0; __any_sync(kFullMask, here && now <= turn); ++now) {
      if (here && now == turn) sum[j] += term;
      __syncwarp();
    }
  }
  T* out = y + row * cols + first;
  for (int j = lane; j < width; j += kWarp) out[j] = static_cast<T>(sum[j]);
}

// Both replace counts by their exclusive scan and return the sum of all.
std::int64_t scan_on_device(const Tensor& counts) {
  exclusive_scan(counts);
  return last(counts);
}

std::int64_t scan_on_host(const Tensor& counts) {
  auto offsets = counts.to_vector<std::int64_t>();
  std::exclusive_scan(offsets.begin(), offsets.end(), offsets.begin(), std::int64_t{0});
  const std::int64_t total = offsets.back();
  counts.copy_from(Tensor::from(offsets));
  return total;
}

}  // namespace

WeightedCsr dense_to_csr(const Tensor& x, RowScan scan) {
  const Device device = x.device();
  const std::int64_t rows = x.dim(0), cols = x.dim(1), per_row = ceil_div(cols, kStrip);
  const Strips strips{cols, per_row, rows * per_row};
  const Tensor offsets = Tensor::empty({strips.count + 1}, DType::kI64, device);
  auto* offset = offsets.data<std::int64_t>();
  return dispatch_float(x.dtype(), "dense_to_csr", [&]<class T>(T) {
    using D = device_t<T>;
    const auto* values = device_data<T>(x);
    const dim3 grid = grid_of_warps(strips.count, kThreads);
    launch("dense_to_csr count", device, count_kernel<D>, grid, kThreads, 0, values, strips, offset);
    const std::int64_t nnz = scan == RowScan::kHost ? scan_on_host(offsets) : scan_on_device(offsets);
    WeightedCsr out{{rows, cols, Tensor::empty({rows + 1}, DType::kI64, device),
                     Tensor::empty({nnz}, DType::kI32, device)},
                    Tensor::empty({nnz}, x.dtype(), device)};
    launch("dense_to_csr rows", device, row_ptr_kernel, grid_for(rows + 1, kThreads), kThreads, 0, offset,
           per_row, rows, out.csr.row_ptr.template data<std::int64_t>());
    launch("dense_to_csr fill", device, fill_kernel<D>, grid, kThreads, 0, values, strips, offset,
           out.csr.col.template data<std::int32_t>(), device_data<T>(out.weight));
    return out;
  });
}

void csr_to_dense(const Csr& a, const Tensor& weight, const Tensor& y) {
  const std::int64_t tiles = ceil_div(a.cols, kTile);
  dispatch_float(y.dtype(), "csr_to_dense", [&]<class T>(T) {
    using D = device_t<T>;
    launch("csr_to_dense", y.device(), to_dense_kernel<D>, grid_of_warps(a.rows * tiles, kTileThreads),
           kTileThreads, 0, a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(),
           device_data<T>(weight), device_data<T>(y), a.rows, a.cols, tiles);
  });
}

}  // namespace rodeo::kernels::cuda
