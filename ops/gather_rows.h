/// Rows of a matrix by index, with gradient.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// y[i] = x[index[i]].
///   x        [m] or [m, n]  n >= 0; f64, f32, bf16 or f16
///   index    [k]            i64 in [0, m), in any order, rows may repeat; checked as index_checks.h says
///   returns  [k] or [k, n]  on CUDA a row of an index out of range is NaN
/// m and k are at most 2^31 - 1.
/// Gradient: dx[r] = sum of dy[i] over all i with index[i] = r, in the order of i; 16-bit types are
/// accumulated in f32. It sorts the index and waits for the device, so backward cannot be captured in a CUDA
/// graph; where the same rows are read in every step, an Adjacency of them and spmm() can.
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for an index out of range.
Tensor gather_rows(const Tensor& x, const Tensor& index);
Variable gather_rows(const Variable& x, const Tensor& index);

}  // namespace rodeo
