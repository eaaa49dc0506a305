/// Operators on the heads of attention layers. Floating dtypes: f64, f32, bf16, f16; 16-bit types are
/// accumulated in f32. With 16-bit x a vector may be f32, and its gradient is then f32. Deterministic. Throws
/// rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include <utility>

#include "core/variable.h"

namespace rodeo {

/// y[i, h] = sum over j of x[i, h, j] a[h, j].   x [n, heads, k], a [heads, k] -> [n, heads].
/// Rows of x are nodes or edges.
/// Gradients: dx[i, h, j] = dy[i, h] a[h, j],  da[h, j] = sum over i of dy[i, h] x[i, h, j], in a fixed
/// order.
Tensor head_dot(const Tensor& x, const Tensor& a);
Variable head_dot(const Variable& x, const Variable& a);

/// head_dot(x, a) and head_dot(x, b) in one pass over x.
std::pair<Tensor, Tensor> head_dots(const Tensor& x, const Tensor& a, const Tensor& b);

/// y[i, j] = mean over h of x[i, h, j].   [n, heads, k] -> [n, k]; heads >= 1.
/// Gradient: dx[i, h, j] = dy[i, j] / heads.
Tensor head_mean(const Tensor& x);
Variable head_mean(const Variable& x);

}  // namespace rodeo
