/// Row scales of a matrix. Floating dtypes: f64, f32, bf16, f16. Deterministic. Throws rodeo::Error when
/// shapes, dtypes or devices disagree.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// y[i, :] = s[i] x[i, :].   x [m, n], s [m] of x's dtype, or f32 with 16-bit x.
/// Gradient: dx[i, :] = s[i] dy[i, :]. s is a constant.
Tensor scale_rows(const Tensor& x, const Tensor& s);
Variable scale_rows(const Variable& x, const Tensor& s);

/// Divides every row by the sum of its absolute values; rows of zeros stay zero.   x [m, n].
/// No gradient.
Tensor normalize_rows(const Tensor& x);

}  // namespace rodeo
