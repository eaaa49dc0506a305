/// Views of the operands of sddmm, Tensors or Variables, as matrices. b is [m, k] or [m, heads, k].
#pragma once

#include "ops/dense.h"

namespace rodeo {

/// The shape of b with `rows` in place of its rows.
template <typename T>
Shape with_rows(const T& b, std::int64_t rows) {
  return b.shape().rank() == 2 ? Shape{rows, b.dim(1)} : Shape{rows, b.dim(1), b.dim(2)};
}

template <typename T>
std::int64_t row_size(const T& b) {
  return b.shape().rank() == 2 ? b.dim(1) : b.dim(1) * b.dim(2);
}

template <typename T>
T as_matrix(const T& b) {
  return reshape(b, {b.dim(0), row_size(b)});
}

/// [edges] or [edges, ...] as a matrix [edges, everything else].
template <typename T>
T edge_matrix(const T& ds) {
  return ds.shape().rank() == 1 ? reshape(ds, {ds.dim(0), 1}) : as_matrix(ds);
}

}  // namespace rodeo
