/// Statistics of a trained model and its graph for the report, computed on the host.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// argmax of each row of [n, classes]; the first of equal values. NaN counts as smallest.
std::vector<std::int64_t> largest_columns(const Tensor& values);

/// Confusion matrix: counts[i * classes + j] is the number of `nodes` of class i that were predicted as j.
/// Nodes without a label (negative) are not counted.
std::vector<std::int64_t> confusion(const std::vector<std::int64_t>& predicted,
                                    const std::vector<std::int64_t>& label,
                                    const std::vector<std::int64_t>& nodes, std::int64_t classes);

/// The rows of x [n, d] projected on their first two principal components. The sign of each component is
/// chosen so that its largest entry is positive. A missing component is 0.
struct Plane {
  std::vector<double> x, y;
  double share_x = 0, share_y = 0;  // share of the variance
};
Plane principal_plane(const Tensor& x);

/// Number of rows with a degree of 0, 1, 2-3, 4-7, ...: [lower bound, count] for each range up to the last
/// non-empty one.
std::vector<std::pair<std::int64_t, std::int64_t>> degree_histogram(const Tensor& row_ptr);

}  // namespace rodeo
