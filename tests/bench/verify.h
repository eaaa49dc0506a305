/// Results against float64 on the host, on a sample of rows.
#pragma once

#include <vector>

#include "tests/bench/kernels.h"

namespace rodeo::bench {

/// What a problem's result is: the values of the first, the last, the longest and evenly spaced other rows
/// in float64; for SDDMM, of their edges. Computed once for all kernels.
class Reference {
 public:
  explicit Reference(const Problem& problem);

  /// How far a result is off: norms of differences over norms of what is expected, where the latter is at
  /// least the root of the sum of the squared terms, so that sums that cancel are judged by their terms.
  struct Distance {
    double total;  // over the whole sample
    double row;    // of the worst row
  };
  Distance distance(const Tensor& result) const;

 private:
  struct Row {
    std::int64_t begin;        // of its elements in the result
    std::vector<double> want;  // those elements
    double terms = 0;          // sum of the squared products that were added up
  };
  std::vector<Row> rows_;
};

/// Runs a kernel once into memory that holds NaN, and returns the distance from the reference.
/// Throws Unsupported where the kernel does, and WrongResult naming the kernel where the distance is over
/// the tolerance of the result's type.
struct WrongResult : Error {
  using Error::Error;
};
double verify(const Kernel& kernel, const Problem& problem, const Run& run, const Reference& reference);

}  // namespace rodeo::bench
