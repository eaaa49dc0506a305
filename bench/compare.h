/// Comparison of all elements of a result with a float64 reference, which is computed where the result is.
#pragma once

#include "bench/kernels.h"

namespace rodeo::bench {

/// What one row of the result adds: the squared differences, the squared expected values and the squared
/// terms of their sums, and the largest relative error of an element. NaN counts as an infinite difference.
struct RowSums {
  double off = 0, want = 0, terms = 0, worst = 0;
};

/// Below the normal range of the result's dtype, differences are absolute: this is added to the squared terms
/// of every element.
constexpr double tiny_square(DType result) {
  return result == DType::kF16 ? 0x1p-28 : 0x1p-240;
}

/// Relative errors: norm of the difference / norm of the expected values. The divisor is at least the root
/// of the sum of the squared terms, so that cancellation in a sum does not count as an error.
struct Distance {
  double total;    // over all elements
  double row;      // of the worst row
  double element;  // of the worst element
};

/// `result` has the shape of the problem's result, and its dtype or f32. For SDDMM, the elements of a row are
/// those of its edges. No memory besides 32 bytes a row.
Distance distance_to_float64(const Problem& problem, const Tensor& result);

/// The largest difference of two elements, relative to the largest value of `want`; for any shapes of one
/// size, dtypes and devices. A NaN in `got` is an infinite difference.
double largest_difference(const Tensor& got, const Tensor& want);

/// The backends: one RowSums for each row, on the host.
std::vector<RowSums> row_sums_cpu(const Problem& problem, const Tensor& result);
std::vector<RowSums> row_sums_cuda(const Problem& problem, const Tensor& result);

/// Calls f(T{}, Out{}) with the host types of the operands and of the result.
template <class F>
decltype(auto) dispatch_compare(const Problem& p, const Tensor& result, F&& f) {
  return dispatch_float(p.dtype, "sparse_bench", [&]<class T>(T) {
    if constexpr (sizeof(T) == 2)
      if (result.dtype() == DType::kF32) return f(T{}, float{});
    check(result.dtype() == p.dtype, "[sparse_bench] a result of ", result.dtype(), " for operands of ",
          p.dtype);
    return f(T{}, T{});
  });
}

}  // namespace rodeo::bench
