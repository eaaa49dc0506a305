/// What tests of sparse sums share: memory full of NaN, and the sums in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/adjacency.h"
#include "core/storage.h"
#include "ops/dense.h"
#include "tests/support/near.h"

namespace rodeo::test {

/// While one lives, new memory is NaN: what a kernel does not write shows.
struct Poisoned {
  Poisoned() { set_poison_memory(true); }
  ~Poisoned() { set_poison_memory(false); }
  Poisoned(const Poisoned&) = delete;
  Poisoned& operator=(const Poisoned&) = delete;
};

/// [m] values in [0.25, 2): factors of rows.
inline Tensor positive(std::int64_t m, DType dtype, Device device, std::uint64_t seed = 4) {
  return uniform({m}, 0.25, 2, {seed, 0}, DType::kF32, device).to(dtype);
}

/// Of a sum in f32 (f64), relative to the sum of its terms' magnitudes.
inline double sum_tolerance(DType dtype) {
  return dtype == DType::kF64 ? 1e-13 : dtype == DType::kF32 ? 1e-5 : epsilon(dtype);
}

struct Sums {
  std::vector<double> y, scale;  // scale: the sum of the terms' magnitudes, which rounding is relative to
};

/// A X in float64; weight [edges], [edges, heads] or undefined.
inline Sums spmm_reference(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::int64_t n = x.numel() / std::max<std::int64_t>(1, x.dim(0));
  const std::int64_t heads = weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
  const std::vector<double> w = weight.defined() ? doubles(weight) : std::vector<double>(col.size(), 1),
                            xs = doubles(x);
  Sums out{std::vector<double>(static_cast<std::size_t>(adj.rows() * n)), {}};
  out.scale = out.y;
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      for (std::int64_t j = 0; j < n; ++j) {
        const double term = w[e * heads + j * heads / n] * xs[col[e] * n + j];
        out.y[i * n + j] += term;
        out.scale[i * n + j] += std::abs(term);
      }
  return out;
}

}  // namespace rodeo::test
