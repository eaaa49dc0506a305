// Dropout and L1 normalisation of the entries of sparse features (ops/features.h).
#include "core/cuda/warp.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dropout.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct EntryArgs {
  const std::int32_t *row, *col;
  const std::int64_t* place;
  const T* x;
  const Accumulator<T>* scale;  // [rows], or null
  T *y, *transposed;            // either may be null
  std::int64_t entries, cols;
  std::uint32_t threshold;  // dropout_keeps(); 0: no dropout
  Accumulator<T> keep;
  RandomKey key;
};

// One thread per entry, grid-stride, block kThreads. `place` is the position of an entry in the transpose.
template <class T>
__global__ void drop_entries_kernel(const EntryArgs<T> args) {
  const std::uint64_t stream = args.threshold > 0 ? args.key.stream_now() : 0;
  RODEO_GRID_STRIDE(e, args.entries) {
    const std::int64_t row = args.row[e];
    Accumulator<T> value = widen(args.x[e]);
    if (args.threshold > 0) {
      const auto at = static_cast<std::uint64_t>((args.key.first_row + row) * args.cols + args.col[e]);
      value = dropout_keeps(random_word(args.key.seed, stream, at), args.threshold) ? value * args.keep : 0;
    }
    if (args.scale) value *= args.scale[row];
    const T out = static_cast<T>(value);
    if (args.y) args.y[e] = out;
    if (args.transposed) args.transposed[args.place[e]] = out;
  }
}

// Grid (rows / warps of a block), block kThreads, a warp a row.
template <class T>
__global__ void normalize_entries_kernel(const std::int64_t* row_ptr, const T* x, T* y, std::int64_t rows) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::int64_t begin = row_ptr[row] + threadIdx.x % kWarp, end = row_ptr[row + 1];
  Accumulator<T> sum = 0;
  for (std::int64_t e = begin; e < end; e += kWarp) sum += fabs(widen(x[e]));
  sum = sum_over(sum);
  for (std::int64_t e = begin; e < end; e += kWarp) y[e] = static_cast<T>(sum == 0 ? sum : widen(x[e]) / sum);
}

}  // namespace

void drop_entries(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed) {
  dispatch_float(x.dtype(), "drop_entries", [&]<class T>(T) {
    using D = device_t<T>;
    launch("drop_entries", x.device(), drop_entries_kernel<D>, grid_for(x.numel(), kThreads), kThreads, 0,
           EntryArgs<D>{.row = row.data<std::int32_t>(),
                        .col = a.col.data<std::int32_t>(),
                        .place = place.data<std::int64_t>(),
                        .x = device_data<T>(x),
                        .scale = device_data<Accumulator<D>>(scale),
                        .y = device_data<T>(y),
                        .transposed = device_data<T>(transposed),
                        .entries = x.numel(),
                        .cols = a.cols,
                        .threshold = dropout_threshold(p),
                        .keep = static_cast<Accumulator<D>>(1 / (1 - p)),
                        .key = key});
  });
}

void normalize_entries(const Csr& a, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "normalize_entries", [&]<class T>(T) {
    launch("normalize_entries", y.device(), normalize_entries_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), kThreads, 0,
           a.row_ptr.data<std::int64_t>(), device_data<T>(x), device_data<T>(y), a.rows);
  });
}

}  // namespace rodeo::kernels::cuda
