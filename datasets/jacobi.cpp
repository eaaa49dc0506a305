#include "datasets/jacobi.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rodeo {

using Doubles = std::vector<double>;

Eigenpairs jacobi_eigenpairs(Doubles a, std::size_t n) {
  Doubles v(n * n);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  const auto rotate = [n](double& x, double& y, double c, double s) {
    const double old = x;
    x = c * old - s * y;
    y = s * old + c * y;
  };
  constexpr int kMostSweeps = 40;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0, all = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) (i == j ? all : off) += a[i * n + j] * a[i * n + j];
    if (off <= 1e-30 * all) break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]),
                     t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1)),
                     c = 1 / std::hypot(t, 1), s = t * c;
        for (std::size_t k = 0; k < n; ++k) rotate(a[k * n + p], a[k * n + q], c, s);
        for (std::size_t k = 0; k < n; ++k) rotate(a[p * n + k], a[q * n + k], c, s);
        for (std::size_t k = 0; k < n; ++k) rotate(v[k * n + p], v[k * n + q], c, s);
      }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return a[i * n + i] < a[j * n + j]; });
  Eigenpairs out{Doubles(n), Doubles(n * n)};
  for (std::size_t j = 0; j < n; ++j) {
    out.values[j] = a[order[j] * n + order[j]];
    for (std::size_t i = 0; i < n; ++i) out.vectors[i * n + j] = v[i * n + order[j]];
  }
  return out;
}

}  // namespace rodeo
