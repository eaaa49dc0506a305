/// For tests of sparse sums: memory full of NaN, and reference sums in float64.
#pragma once

#include <algorithm>
#include <vector>

#include "core/adjacency.h"
#include "core/storage.h"
#include "ops/dense.h"
#include "tests/support/near.h"

namespace rodeo::test {

/// While one exists, new allocations are filled with NaN, so that an element that a kernel does not write is
/// found.
struct Poisoned {
  Poisoned() { set_poison_memory(true); }
  ~Poisoned() { set_poison_memory(false); }
  Poisoned(const Poisoned&) = delete;
  Poisoned& operator=(const Poisoned&) = delete;
};

/// [m] values in [0.25, 2), for row scaling.
inline Tensor positive(std::int64_t m, DType dtype, Device device, std::uint64_t seed = 4) {
  return uniform({m}, 0.25, 2, {seed, 0}, DType::kF32, device).to(dtype);
}

/// Tolerance of a sum accumulated in f32 (f64), relative to the sum of the magnitudes of its terms.
inline double sum_tolerance(DType dtype) {
  return dtype == DType::kF64 ? 1e-13 : dtype == DType::kF32 ? 1e-5 : epsilon(dtype);
}

struct Sums {
  std::vector<double> y;
  std::vector<double> scale;  // sum of the magnitudes of the terms: the rounding error is relative to it
};

/// A X in float64; weight [edges], [edges, heads] or undefined.
Sums spmm_reference(const Adjacency& adj, const Tensor& weight, const Tensor& x);

}  // namespace rodeo::test
