/// Views of the operands of sddmm as matrices. b is [m, k] or [m, heads, k].
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// The shape of b with `rows` in place of its rows.
inline Shape with_rows(const Tensor& b, std::int64_t rows) {
  return b.rank() == 2 ? Shape{rows, b.dim(1)} : Shape{rows, b.dim(1), b.dim(2)};
}

inline std::int64_t row_size(const Tensor& b) {
  return b.rank() == 2 ? b.dim(1) : b.dim(1) * b.dim(2);
}

inline Tensor as_matrix(const Tensor& b) {
  return b.reshape({b.dim(0), row_size(b)});
}

/// [edges] or [edges, ...] as a matrix [edges, everything else].
inline Tensor edge_matrix(const Tensor& ds) {
  return ds.rank() == 1 ? ds.reshape({ds.dim(0), 1}) : as_matrix(ds);
}

}  // namespace rodeo
