/// What a report shows of a trained model and its graph: plain functions on host values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// The column of the largest value of each row of [n, classes]; the first of equal ones; NaN is never
/// largest.
std::vector<std::int64_t> largest_columns(const Tensor& values);

/// counts[i * classes + j]: how many of `nodes` are of class i and were taken for j. Nodes without a label (a
/// negative one) are not counted.
std::vector<std::int64_t> confusion(const std::vector<std::int64_t>& taken_for,
                                    const std::vector<std::int64_t>& label,
                                    const std::vector<std::int64_t>& nodes, std::int64_t classes);

/// The rows of x [n, d] in the plane of their two directions of largest variance (principal components), the
/// first of which has its largest entry positive. One that is not there is 0.
struct Plane {
  std::vector<double> x, y;
  double share_x = 0, share_y = 0;  // of the variance
};
Plane principal_plane(const Tensor& x);

/// How many rows have a degree of 0, 1, 2-3, 4-7, ...: [lower bound, count] of every range up to the last one
/// that has any.
std::vector<std::pair<std::int64_t, std::int64_t>> degree_histogram(const Tensor& row_ptr);

}  // namespace rodeo
