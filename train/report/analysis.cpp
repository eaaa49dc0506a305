#include "train/report/analysis.h"

#include <bit>
#include <cmath>

#include "core/error.h"

namespace rodeo {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Eigenvector of the largest eigenvalue of a symmetric matrix [d, d], by power iteration from a fixed start.
Vector main_direction(const Vector& matrix, std::size_t d) {
  constexpr int kSteps = 300;
  Vector v(d), next(d);
  for (std::size_t i = 0; i < d; ++i) v[i] = 1 + 0.37 * std::sin(static_cast<double>(i + 1));
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < d; ++i) {
      next[i] = 0;
      for (std::size_t j = 0; j < d; ++j) next[i] += matrix[i * d + j] * v[j];
    }
    const double length = std::sqrt(dot(next, next));
    if (!(length > 0) || !std::isfinite(length)) return Vector(d, 0);
    for (std::size_t i = 0; i < d; ++i) v[i] = next[i] / length;
  }
  std::size_t largest = 0;
  for (std::size_t i = 0; i < d; ++i)
    if (std::abs(v[i]) > std::abs(v[largest])) largest = i;
  if (v[largest] < 0)
    for (double& x : v) x = -x;
  return v;
}

}  // namespace

std::vector<std::int64_t> largest_columns(const Tensor& values) {
  const std::vector<double> host = values.to(kCpu).to(DType::kF64).to_vector<double>();
  const std::int64_t n = values.dim(0), classes = values.dim(1);
  std::vector<std::int64_t> largest(static_cast<std::size_t>(n), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const double* row = host.data() + i * classes;
    for (std::int64_t j = 1; j < classes; ++j)
      if (const double best = row[largest[i]]; row[j] > best || (std::isnan(best) && !std::isnan(row[j])))
        largest[i] = j;
  }
  return largest;
}

std::vector<std::int64_t> confusion(const std::vector<std::int64_t>& predicted,
                                    const std::vector<std::int64_t>& label,
                                    const std::vector<std::int64_t>& nodes, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes * classes));
  for (const std::int64_t node : nodes) {
    const std::int64_t is = label.at(static_cast<std::size_t>(node));
    if (is >= 0)
      ++counts.at(static_cast<std::size_t>(is * classes + predicted.at(static_cast<std::size_t>(node))));
  }
  return counts;
}

Plane principal_plane(const Tensor& x) {
  check(x.rank() == 2, "[principal_plane] x must be [n, d], got ", x.shape());
  const auto n = static_cast<std::size_t>(x.dim(0)), d = static_cast<std::size_t>(x.dim(1));
  Vector rows = x.to(kCpu).to(DType::kF64).to_vector<double>();
  Plane plane{Vector(n), Vector(n)};
  if (n == 0 || d == 0) return plane;
  for (std::size_t j = 0; j < d; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += rows[i * d + j] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) rows[i * d + j] -= mean;
  }
  Vector covariance(d * d);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t k = 0; k < d; ++k) covariance[j * d + k] += rows[i * d + j] * rows[i * d + k];
  double total = 0;
  for (std::size_t j = 0; j < d; ++j) total += covariance[j * d + j];
  for (const bool first : {true, false}) {
    const Vector direction = main_direction(covariance, d);
    Vector& along = first ? plane.x : plane.y;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d; ++j) along[i] += rows[i * d + j] * direction[j];
    const double variance = dot(along, along);
    (first ? plane.share_x : plane.share_y) = total > 0 ? variance / total : 0;
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t k = 0; k < d; ++k) covariance[j * d + k] -= variance * direction[j] * direction[k];
  }
  return plane;
}

std::vector<std::pair<std::int64_t, std::int64_t>> degree_histogram(const Tensor& row_ptr) {
  const std::vector<std::int64_t> host = row_ptr.to(kCpu).to_vector<std::int64_t>();
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t i = 1; i < host.size(); ++i) {
    // Ranges 0, 1, 2-3, 4-7, ...: the bit width of the degree.
    const auto range =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(host[i] - host[i - 1])));
    while (ranges.size() <= range)
      ranges.emplace_back(ranges.empty() ? 0 : std::int64_t{1} << (ranges.size() - 1), 0);
    ++ranges[range].second;
  }
  return ranges;
}

}  // namespace rodeo
