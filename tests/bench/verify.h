/// Verification of results against float64 on the host, on a sample of rows.
#pragma once

#include <vector>

#include "tests/bench/kernels.h"

namespace rodeo::bench {

/// The expected result of a problem in float64, for the first, the last, the longest and evenly spaced other
/// rows; for SDDMM, for the edges of these rows. Computed once for all kernels.
class Reference {
 public:
  explicit Reference(const Problem& problem);

  /// Relative error: norm of the difference / norm of the expected values. The divisor is at least the root
  /// of the sum of the squared terms, so that cancellation in a sum does not count as an error.
  struct Distance {
    double total;  // over the whole sample
    double row;    // of the worst row
  };
  Distance distance(const Tensor& result) const;

 private:
  struct Row {
    std::int64_t begin;        // index of its first element in the result
    std::vector<double> want;  // expected values
    double terms = 0;          // sum of the squared products that were added up
  };
  std::vector<Row> rows_;
};

/// Runs a kernel once into memory filled with NaN and returns the error of the result. Throws Unsupported if
/// the kernel does, and WrongResult that names the kernel if the error exceeds the tolerance of the dtype.
struct WrongResult : Error {
  using Error::Error;
};
double verify(const Kernel& kernel, const Problem& problem, const Run& run, const Reference& reference);

}  // namespace rodeo::bench
