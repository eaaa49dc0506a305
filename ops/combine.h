/// Linear combinations, maxima, concatenations, and ranges of rows and columns of dense arrays. Floating
/// dtypes: f64, f32, bf16, f16; 16-bit types are computed in f32. Deterministic. Throws rodeo::Error when
/// shapes, dtypes or devices disagree.
#pragma once

#include <cstdint>
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
Tensor concat_columns(const std::vector<Tensor>& parts);
Variable concat_columns(const std::vector<Variable>& parts);

/// Concatenates rows: [m_1, n], [m_2, n], ... -> [m_1 + m_2 + ..., n], or vectors [m_1], [m_2], ..., of
/// any dtype; at least one part.   Gradient: each part gets its rows of dout.
Tensor concat_rows(const std::vector<Tensor>& parts);
Variable concat_rows(const std::vector<Variable>& parts);

/// The last two dimensions swapped: [..., a, b] -> [..., b, a], a copy; x has 2 to 4 dimensions.
/// Gradient: dout with them swapped.
Tensor transpose_last(const Tensor& x);
Variable transpose_last(const Variable& x);

/// The columns [begin, end) of x: [m, n] -> [m, end - begin], a copy.   0 <= begin <= end <= n.
/// Gradient: dx has dout in these columns, 0 in the others.
Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end);
Variable columns(const Variable& x, std::int64_t begin, std::int64_t end);

/// The rows [begin, end) of x: [m, ...] -> [end - begin, ...], a view.   0 <= begin <= end <= m.
/// Gradient: dx has dout in these rows, 0 in the others.
Variable rows(const Variable& x, std::int64_t begin, std::int64_t end);

}  // namespace rodeo
