#include "tests/support/sums.h"

#include <algorithm>
#include <cmath>

namespace rodeo::test {

Sums spmm_reference(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::int64_t n = x.numel() / std::max<std::int64_t>(1, x.dim(0));
  const std::int64_t heads = weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
  const std::vector<double> w = weight.defined() ? doubles(weight) : std::vector<double>(col.size(), 1),
                            xs = doubles(x);
  Sums out{std::vector<double>(static_cast<std::size_t>(adj.rows() * n)), {}};
  out.scale = out.y;
  const std::int64_t width = n / std::max<std::int64_t>(1, heads);  // columns of one head
  // One thread computes a block of columns of a row, so that a row of 100,000 edges keeps all threads busy.
  constexpr std::int64_t kColumns = 64;
#pragma omp parallel for collapse(2) schedule(dynamic, 16) if (adj.num_edges() * n > 16384)
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (std::int64_t first = 0; first < n; first += kColumns) {
      double* const y = out.y.data() + i * n;
      double* const scale = out.scale.data() + i * n;
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
        for (std::int64_t j = first; j < std::min(n, first + kColumns); ++j) {
          const double term = w[e * heads + (heads == 1 ? 0 : j / width)] * xs[col[e] * n + j];
          y[j] += term;
          scale[j] += std::abs(term);
        }
    }
  return out;
}

}  // namespace rodeo::test
