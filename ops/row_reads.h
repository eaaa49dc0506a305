/// Gradients of a trainable matrix by row.
#pragma once

#include <utility>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// A gradient of some rows of a matrix [m, n]; it is zero elsewhere.
struct RowGradient {
  Tensor rows;  // i64 [k], in [0, m), all different
  Tensor g;     // [k, n]
};

/// The sum of the gradients of a matrix with `height` rows, of which g[i] is that of row index[i]: those of
/// one row are added in their order, and rows are ascending then; without repeated rows index and g are as
/// they were given.
///   index  i64 [k], in [0, height)    g  [k, n], f64, f32, bf16 or f16
/// Sorts the indices, and waits for the device. Memory is that of k rows. Deterministic. Throws Error when
/// shapes or devices disagree, and for an index out of range.
RowGradient sum_by_row(const Tensor& index, const Tensor& g, std::int64_t height);

/// A trainable matrix of which each step reads some rows. The gradient is of these rows: a step takes memory
/// and time for the rows that it reads, not for all. Lazy Adam updates them (ParameterGroup::reads).
class RowReads {
 public:
  /// table [m, n], m <= 2^31 - 1, a leaf: f64, f32, bf16 or f16. Throws Error otherwise.
  explicit RowReads(Variable table);

  const Variable& table() const { return table_; }
  /// gather_rows(table, index), recorded without the table: its gradient is in gradient(), and not in
  /// table().grad(). A constant where gradients are not recorded.
  Variable gather(const Tensor& index);
  /// sum_by_row() of all rows that were gathered since clear(), in the order of gather(); undefined where no
  /// backward() reached one.
  RowGradient gradient() const;
  /// Replaces gradient() until clear(), by its sum over ranks.
  void set_gradient(RowGradient gradient) { replaced_ = std::move(gradient); }
  void clear();

 private:
  Variable table_;
  std::vector<std::pair<Tensor, Variable>> reads_;  // index, rows
  RowGradient replaced_;                            // undefined unless set_gradient() was called
};

}  // namespace rodeo
