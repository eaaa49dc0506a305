/// Sums, maxima and concatenations of dense arrays. Floating dtypes: f64, f32, bf16, f16, computed in f32 for
/// 16-bit types. Everything is deterministic; shapes, dtypes and devices that disagree throw rodeo::Error.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// a x + b y, of one shape.   Gradients: dx = a dout, dy = b dout.
Tensor linear_combination(double a, const Tensor& x, double b, const Tensor& y);
Variable linear_combination(double a, const Variable& x, double b, const Variable& y);

/// (1 + s) x + y, where s [1] is learned.   x, y [m, n]; s of their dtype, or f32 beside 16-bit ones.
/// Gradients: dx = (1 + s) dout,  dy = dout,  ds = sum of dout x.
Variable scale_add(const Variable& s, const Variable& x, const Variable& y);

/// The larger of two, element by element; NaN where either is. One shape.
/// Gradient: to x where x >= y or x is NaN, else to y.
Tensor maximum(const Tensor& x, const Tensor& y);
Variable maximum(const Variable& x, const Variable& y);

/// Side by side: [m, n_1], [m, n_2], ... -> [m, n_1 + n_2 + ...]; at least one.
/// Gradient: each its columns of dout.
Variable concat_columns(const std::vector<Variable>& parts);

}  // namespace rodeo
