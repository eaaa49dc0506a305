// Ids that are numbered range by range (ops/id_ranges.h). One thread per element, grid-stride.
#include "core/cuda/launch.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;
constexpr int kThreads = 256;

// Grids grid_for(elements, kThreads), block kThreads.
__global__ void range_of_kernel(const std::int64_t* ids, const std::int64_t* begin, std::int64_t ranges,
                                std::int32_t* range, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) {
    std::int64_t low = 0, high = ranges;  // the first range that begins behind the id
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (begin[middle] <= ids[i])
        low = middle + 1;
      else
        high = middle;
    }
    range[i] = static_cast<std::int32_t>(low - 1);
  }
}

__global__ void inverse_permutation_kernel(const std::int64_t* order, std::int32_t* inverse, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) inverse[order[i]] = static_cast<std::int32_t>(i);
}

// ids: null for 0, 1, 2, ...
template <class From, class To>
__global__ void number_ids_kernel(const From* ids, std::int64_t begin, std::int64_t step, To* out,
                                  std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) out[i] = static_cast<To>(begin + step * (ids ? ids[i] : i));
}

// A thread a row: rows of relations are short.
__global__ void row_shares_kernel(const std::int64_t* row_ptr, double* share, std::int64_t rows) {
  RODEO_GRID_STRIDE(i, rows) {
    const std::int64_t begin = row_ptr[i], end = row_ptr[i + 1];
    for (std::int64_t e = begin; e < end; ++e) share[e] = 1 / static_cast<double>(end - begin);
  }
}

}  // namespace

void range_of(const Tensor& ids, const Tensor& begin, const Tensor& range) {
  launch("range_of", ids.device(), range_of_kernel, grid_for(ids.numel(), kThreads), kThreads, 0,
         ids.data<std::int64_t>(), begin.data<std::int64_t>(), begin.numel() - 1, range.data<std::int32_t>(),
         ids.numel());
}

void inverse_permutation(const Tensor& order, const Tensor& inverse) {
  launch("inverse_permutation", order.device(), inverse_permutation_kernel, grid_for(order.numel(), kThreads),
         kThreads, 0, order.data<std::int64_t>(), inverse.data<std::int32_t>(), order.numel());
}

void number_ids(const Tensor& ids, std::int64_t begin, std::int64_t step, const Tensor& out) {
  const auto run = [&]<class From, class To>(const From* from, To* to) {
    launch("number_ids", out.device(), number_ids_kernel<From, To>, grid_for(out.numel(), kThreads), kThreads,
           0, from, begin, step, to, out.numel());
  };
  const auto read = [&]<class To>(To* to) {
    if (ids.defined() && ids.dtype() == DType::kI32) return run(ids.data<std::int32_t>(), to);
    run(ids.defined() ? ids.data<std::int64_t>() : static_cast<std::int64_t*>(nullptr), to);
  };
  if (out.dtype() == DType::kI32) return read(out.data<std::int32_t>());
  read(out.data<std::int64_t>());
}

void row_shares(const Csr& a, const Tensor& share) {
  launch("row_shares", share.device(), row_shares_kernel, grid_for(a.rows, kThreads), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), share.data<double>(), a.rows);
}

}  // namespace rodeo::kernels::cuda
