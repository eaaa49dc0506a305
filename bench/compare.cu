// The float64 reference on CUDA. Plain on purpose: it shares no code with the kernels that it verifies.
#include <math_constants.h>

#include "bench/compare.h"
#include "core/cuda/launch.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::cuda;

constexpr int kThreads = 256;

template <class T>
__device__ double wide(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

template <class T>
struct Operands {
  std::int64_t rows, n;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x, *b1;  // weight: null for ones
  double tiny;
};

/// The sum over the lanes whose numbers differ in the bits [first, last).
__device__ double sum_lanes(double value, int first, int last) {
  for (int bit = first; bit < last; bit *= 2) value += __shfl_xor_sync(kFullMask, value, bit);
  return value;
}

/// Adds the elements of the lanes of a warp to the sums of a row. `mine`: this lane has an element.
__device__ void add_elements(RowSums* row, bool mine, double got, double want, double terms, double tiny) {
  terms += tiny;
  const double difference = mine ? got - want : 0;
  double off = difference * difference;
  if (isnan(off)) off = CUDART_INF;
  double worst = mine ? sqrt(off / fmax(want * want, terms)) : 0;
  off = sum_lanes(off, 1, kWarp);
  const double squares = sum_lanes(mine ? want * want : 0, 1, kWarp);
  terms = sum_lanes(mine ? terms : 0, 1, kWarp);
  for (int bit = 1; bit < kWarp; bit *= 2) worst = fmax(worst, __shfl_xor_sync(kFullMask, worst, bit));
  if (threadIdx.x % kWarp != 0) return;
  atomicAdd(&row->off, off);
  atomicAdd(&row->want, squares);
  atomicAdd(&row->terms, terms);
  // The bits of doubles that are not negative are ordered as the doubles are.
  atomicMax(reinterpret_cast<unsigned long long*>(&row->worst),
            static_cast<unsigned long long>(__double_as_longlong(worst)));
}

// One warp for each (row, tile of `columns` columns); its groups of `columns` lanes share the edges.
// grid: any; block: kThreads. sums [rows], zero before.
template <class T, class Out>
__global__ void compare_product(Operands<T> p, int columns, const Out* result, RowSums* sums) {
  const int lane = threadIdx.x % kWarp, group = lane / columns, groups = kWarp / columns;
  const std::int64_t tiles = (p.n + columns - 1) / columns,
                     warps = std::int64_t{gridDim.x} * (kThreads / kWarp);
  for (std::int64_t at = std::int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
       at < p.rows * tiles; at += warps) {
    const std::int64_t row = quotient(at, tiles), j = (at - row * tiles) * columns + lane % columns;
    const bool inside = j < p.n;
    double want = 0, terms = 0;
#pragma unroll 4
    for (std::int64_t e = p.row_ptr[row] + group; e < p.row_ptr[row + 1]; e += groups) {
      const double w = p.weight ? wide(p.weight[e]) : 1;
      const double term = inside ? w * wide(p.x[p.col[e] * p.n + j]) : 0;
      want += term, terms += term * term;
    }
    want = sum_lanes(want, columns, kWarp), terms = sum_lanes(terms, columns, kWarp);
    const bool mine = inside && group == 0;
    add_elements(sums + row, mine, mine ? wide(result[row * p.n + j]) : 0, want, terms, p.tiny);
  }
}

// One block for each row; groups of `lanes` lanes take an edge each.
// grid: any; block: kThreads. sums [rows], zero before.
template <class T, class Out>
__global__ void compare_sampled(Operands<T> p, int lanes, const Out* result, RowSums* sums) {
  const int lane = threadIdx.x % kWarp, groups = kThreads / lanes;
  for (std::int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const std::int64_t end = p.row_ptr[row + 1];
    // The trip count is that of the first group of the warp, so that all of its lanes shuffle.
    for (std::int64_t first = p.row_ptr[row] + threadIdx.x / kWarp * (kWarp / lanes); first < end;
         first += groups) {
      const std::int64_t e = first + lane / lanes;
      double want = 0, terms = 0;
      for (std::int64_t j = lane % lanes; e < end && j < p.n; j += lanes) {
        const double w = p.weight ? wide(p.weight[e]) : 1;
        const double term = w * wide(p.b1[row * p.n + j]) * wide(p.x[p.col[e] * p.n + j]);
        want += term, terms += term * term;
      }
      want = sum_lanes(want, 1, lanes), terms = sum_lanes(terms, 1, lanes);
      const bool mine = e < end && lane % lanes == 0;
      add_elements(sums + row, mine, mine ? wide(result[e]) : 0, want, terms, p.tiny);
    }
  }
}

}  // namespace

std::vector<RowSums> row_sums_cuda(const Problem& p, const Tensor& result) {
  constexpr std::int64_t kMostBlocks = 1 << 20;
  static_assert(sizeof(RowSums) == 4 * sizeof(double), "RowSums are read as four doubles");
  const Device device = p.adj.device();
  const std::int64_t rows = p.adj.rows();
  const Tensor sums = Tensor::zeros({rows, 4}, DType::kF64, device);
  int lanes = 1;
  while (lanes < kWarp && lanes < p.n) lanes *= 2;
  dispatch_compare(p, result, [&]<class T, class Out>(T, Out) {
    using D = device_t<T>;
    using R = device_t<Out>;
    const Operands<D> operands{rows,
                               p.n,
                               p.adj.csr().row_ptr.data<std::int64_t>(),
                               p.adj.csr().col.data<std::int32_t>(),
                               static_cast<const D*>(p.weight.raw()),
                               static_cast<const D*>(p.x.raw()),
                               static_cast<const D*>(p.b1.raw()),
                               tiny_square(result.dtype())};
    auto* out = static_cast<RowSums*>(sums.raw());
    const auto* got = static_cast<const R*>(result.raw());
    const std::int64_t blocks =
        p.op == Op::kSddmm ? rows : ceil_div(rows * ceil_div(p.n, lanes), kThreads / kWarp);
    const dim3 grid(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks));
    if (p.op == Op::kSddmm)
      launch("compare_sampled", device, compare_sampled<D, R>, grid, dim3(kThreads), 0, operands, lanes, got,
             out);
    else
      launch("compare_product", device, compare_product<D, R>, grid, dim3(kThreads), 0, operands, lanes, got,
             out);
  });
  std::vector<RowSums> all(static_cast<std::size_t>(rows));
  sums.copy_to_host(all.data());
  return all;
}

}  // namespace rodeo::bench
