// Dropout and normalisation of the entries of sparse features (ops/features.h).
#include <algorithm>

#include "ops/cuda/dropout.cuh"
#include "ops/cuda/pack.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct Entries {
  const std::int32_t *row, *col;
  const T* x;
  T* y;
};

template <class T>
struct EntryArgs {
  Entries<T> list[2];
  const Accumulator<T>* scale;  // or null
  std::int64_t entries;         // of a list
  std::uint32_t cols;
  bool draws;
  DropsBelow is_dropped;
  Accumulator<T> keep;
  RandomKey key;
};

constexpr int kEntries = 2;                // of a thread under way
constexpr std::int64_t kMostBlocks = 396;  // of a list: two lists run at a time

// A thread for kEntries entries of a list at a time, grid-stride. Grid (blocks, lists).
template <class T>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 4 : 6)
    drop_entries_kernel(const EntryArgs<T> args) {
  const Entries<T> list = args.list[blockIdx.y];
  const std::uint64_t stream = args.draws ? args.key.stream_now() : 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       first < args.entries; first += kEntries * stride) {
    std::uint32_t row[kEntries], col[kEntries];
    Accumulator<T> value[kEntries], scale[kEntries];
#pragma unroll
    for (int i = 0; i < kEntries; ++i) {
      const std::int64_t e = first + i * stride;
      const bool valid = e < args.entries;
      row[i] = valid ? static_cast<std::uint32_t>(list.row[e]) : 0;
      col[i] = valid ? static_cast<std::uint32_t>(list.col[e]) : 0;
      value[i] = valid ? widen(list.x[e]) : Accumulator<T>(0);
    }
#pragma unroll
    for (int i = 0; i < kEntries; ++i) scale[i] = args.scale ? args.scale[row[i]] : Accumulator<T>(1);
#pragma unroll
    for (int i = 0; i < kEntries; ++i) {
      const std::int64_t e = first + i * stride;
      if (e >= args.entries) break;
      if (args.draws) {
        const std::uint64_t at = wide_product(row[i], args.cols) + col[i];
        value[i] = args.is_dropped(random_word(args.key.seed, stream, at)) ? 0 : value[i] * args.keep;
      }
      list.y[e] = static_cast<T>(value[i] * scale[i]);
    }
  }
}

// grid: a warp per row.
template <class T>
__global__ void normalize_entries_kernel(const std::int64_t* row_ptr, const T* x, T* y, std::int64_t rows) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::int64_t begin = row_ptr[row] + threadIdx.x % kWarp, end = row_ptr[row + 1];
  Accumulator<T> sum = 0;
  for (std::int64_t e = begin; e < end; e += kWarp) sum += fabs(widen(x[e]));
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  for (std::int64_t e = begin; e < end; e += kWarp) y[e] = static_cast<T>(sum == 0 ? sum : widen(x[e]) / sum);
}

template <class T>
auto* pointer(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());  // null where t is undefined
}

}  // namespace

void drop_entries(const EntryList& a, const EntryList& b, std::int64_t cols, const Tensor& scale, double p,
                  RandomKey key) {
  dispatch_float(a.x.dtype(), "drop_entries", [&]<class T>(T) {
    using D = device_t<T>;
    EntryArgs<D> args{.list = {},
                      .scale = pointer<Accumulator<D>>(scale),
                      .entries = a.x.numel(),
                      .cols = static_cast<std::uint32_t>(cols),
                      .draws = p > 0,
                      .is_dropped = DropsBelow(static_cast<float>(p)),
                      .keep = static_cast<Accumulator<D>>(1 / (1 - p)),
                      .key = key};
    unsigned lists = 0;
    for (const EntryList* list : {&a, &b})
      if (list->y.defined())
        args.list[lists++] = {.row = list->row.data<std::int32_t>(),
                              .col = list->col.data<std::int32_t>(),
                              .x = pointer<T>(list->x),
                              .y = pointer<T>(list->y)};
    const std::int64_t blocks = std::min(kMostBlocks, ceil_div(args.entries, kThreads));
    launch("drop_entries", a.x.device(), drop_entries_kernel<D>, dim3(static_cast<unsigned>(blocks), lists),
           kThreads, 0, args);
  });
}

void normalize_entries(const Csr& a, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "normalize_entries", [&]<class T>(T) {
    launch("normalize_entries", y.device(), normalize_entries_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), kThreads, 0,
           a.row_ptr.data<std::int64_t>(), pointer<T>(x), pointer<T>(y), a.rows);
  });
}

}  // namespace rodeo::kernels::cuda
