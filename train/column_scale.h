/// Means and standard deviations of columns: of standardised features, and of targets of regression.
#pragma once

#include <cstdint>
#include <vector>

#include "core/communicator.h"
#include "core/tensor.h"

namespace rodeo {

/// Shifts and scales columns of a matrix f32 [n, columns] on the device of the scale. Without columns,
/// matrices stay as they are.
class ColumnScale {
 public:
  ColumnScale() = default;
  /// One value for each column; no deviation is 0.
  ColumnScale(const std::vector<float>& mean, const std::vector<float>& deviation);

  bool defined() const { return mean_.defined(); }
  ColumnScale to(Device device) const;
  /// The scale of one rank, on the host. A collective call, with as many columns on all ranks.
  ColumnScale of_rank(int rank, const Communicator& ranks) const;
  std::vector<float> mean() const { return mean_.to_vector<float>(); }
  std::vector<float> deviation() const { return deviation_.to_vector<float>(); }

  /// (x - mean) / deviation, as a product with 1 / deviation: the same bits on every device.
  Tensor apply(const Tensor& x) const;
  /// deviation x + mean
  Tensor undo(const Tensor& x) const;

 private:
  Tensor mean_, deviation_, inverse_;  // f32 [columns]
};

/// Sums columns in f64, in the order of the rows that are added. NaN are left out.
class ColumnSums {
 public:
  explicit ColumnSums(std::int64_t columns);
  /// rows: f32 [n, columns], on any device.
  void add(const Tensor& rows);
  /// Adds those of all ranks. A collective call.
  void add_ranks(const Communicator& ranks);
  /// On the host. The deviation has divisor n; it is 1 where all values are equal.
  ColumnScale scale() const;

 private:
  std::vector<double> count_, sum_, squares_;
};

}  // namespace rodeo
