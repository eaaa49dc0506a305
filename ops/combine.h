/// Linear combinations, maxima and concatenations of dense arrays. Floating dtypes: f64, f32, bf16, f16;
/// 16-bit types are computed in f32. Deterministic. Throws rodeo::Error when shapes, dtypes or devices
/// disagree.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// a x + b y, of one shape.   Gradients: dx = a dout, dy = b dout.
Tensor linear_combination(double a, const Tensor& x, double b, const Tensor& y);
Variable linear_combination(double a, const Variable& x, double b, const Variable& y);

/// (1 + s) x + y, where s [1] is a parameter.   x, y [m, n]; s of their dtype, or f32 with 16-bit x.
/// Gradients: dx = (1 + s) dout,  dy = dout,  ds = sum of dout x.
Variable scale_add(const Variable& s, const Variable& x, const Variable& y);

/// Elementwise maximum of two arrays of one shape; NaN where either is NaN.
/// Gradient: to x where x >= y or x is NaN, else to y.
Tensor maximum(const Tensor& x, const Tensor& y);
Variable maximum(const Variable& x, const Variable& y);

/// Concatenates columns: [m, n_1], [m, n_2], ... -> [m, n_1 + n_2 + ...]; at least one part.
/// Gradient: each part gets its columns of dout.
Variable concat_columns(const std::vector<Variable>& parts);

}  // namespace rodeo
