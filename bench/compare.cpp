#include "bench/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rodeo::bench {
namespace {

template <class T>
double wide(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

void add_element(RowSums& sums, double got, double want, double terms, double tiny) {
  terms += tiny;
  double off = (got - want) * (got - want);
  if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
  sums.off += off, sums.want += want * want, sums.terms += terms;
  sums.worst = std::max(sums.worst, std::sqrt(off / std::max(want * want, terms)));
}

}  // namespace

std::vector<RowSums> row_sums_cpu(const Problem& p, const Tensor& result) {
  std::vector<RowSums> all(static_cast<std::size_t>(p.adj.rows()));
  const auto* row_ptr = p.adj.csr().row_ptr.data<std::int64_t>();
  const auto* col = p.adj.csr().col.data<std::int32_t>();
  const std::int64_t n = p.n;
  const double tiny = tiny_square(result.dtype());
  dispatch_compare(p, result, [&]<class T, class Out>(T, Out) {
    const T* x = p.x.data<T>();
    const T* b1 = p.b1.defined() ? p.b1.data<T>() : nullptr;
    const T* weight = p.weight.defined() ? p.weight.data<T>() : nullptr;
    const Out* got = result.data<Out>();
#pragma omp parallel
    {
      std::vector<double> want(static_cast<std::size_t>(n)), terms(static_cast<std::size_t>(n));
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t i = 0; i < p.adj.rows(); ++i) {
        std::fill(want.begin(), want.end(), 0), std::fill(terms.begin(), terms.end(), 0);
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
          const double w = weight ? wide(weight[e]) : 1;
          const T* from = x + col[e] * n;
          double sum = 0, squares = 0;  // of SDDMM's dot product
          for (std::int64_t j = 0; j < n; ++j) {
            const double term = w * (b1 ? wide(b1[i * n + j]) : 1) * wide(from[j]);
            sum += term, squares += term * term;
            if (!b1) want[j] += term, terms[j] += term * term;
          }
          if (b1) add_element(all[i], wide(got[e]), sum, squares, tiny);
        }
        for (std::int64_t j = 0; !b1 && j < n; ++j)
          add_element(all[i], wide(got[i * n + j]), want[j], terms[j], tiny);
      }
    }
  });
  return all;
}

double largest_difference(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = got.to(kCpu).to(DType::kF64).to_vector<double>(),
                            b = want.to(kCpu).to(DType::kF64).to_vector<double>();
  check(a.size() == b.size(), "[largest_difference] sizes differ");
  double off = 0, most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= off)) off = std::isnan(a[i]) ? INFINITY : std::abs(a[i] - b[i]);
    most = std::max(most, std::abs(b[i]));
  }
  return most > 0 ? off / most : off;
}

Distance distance_to_float64(const Problem& p, const Tensor& result) {
#if RODEO_WITH_CUDA
  const std::vector<RowSums> all =
      p.adj.device().is_cuda() ? row_sums_cuda(p, result) : row_sums_cpu(p, result);
#else
  const std::vector<RowSums> all = row_sums_cpu(p, result);
#endif
  Distance distance{0, 0, 0};
  RowSums sums;
  for (const RowSums& row : all) {
    if (row.terms == 0) continue;  // a row of SDDMM without edges
    distance.row = std::max(distance.row, std::sqrt(row.off / std::max(row.want, row.terms)));
    distance.element = std::max(distance.element, row.worst);
    sums.off += row.off, sums.want += row.want, sums.terms += row.terms;
  }
  if (sums.terms > 0) distance.total = std::sqrt(sums.off / std::max(sums.want, sums.terms));
  return distance;
}

}  // namespace rodeo::bench
