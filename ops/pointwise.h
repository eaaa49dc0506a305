/// Elementwise products and smooth functions. Any shape; floating dtypes: f64, f32, bf16, f16; 16-bit types
/// are computed in f32 and rounded once. Deterministic. Throws rodeo::Error when a dtype is not floating
/// point, and when shapes, dtypes or devices disagree.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// out = x y, of one shape.   Gradients: dx = y dout, dy = x dout.
Tensor mul(const Tensor& x, const Tensor& y);
Variable mul(const Variable& x, const Variable& y);

/// y = 1 / (1 + exp(-x)); NaN stays NaN.   Gradient: dx = y (1 - y) dy.
Tensor sigmoid(const Tensor& x);
Variable sigmoid(const Variable& x);

/// y = (exp(2 x) - 1) / (exp(2 x) + 1), without overflow; NaN stays NaN.   Gradient: dx = (1 - y^2) dy.
Tensor tanh(const Tensor& x);
Variable tanh(const Variable& x);

/// y = e^x; infinity where that exceeds the dtype; NaN stays NaN.   Gradient: dx = y dy.
Tensor exp(const Tensor& x);
Variable exp(const Variable& x);

/// y = log(x); NaN below 0.   Gradient: dx = dy / x, computed as dy exp(-y).
Tensor log(const Tensor& x);
Variable log(const Variable& x);

/// The standard deviation of a variance, as PyG's StdAggregation has it: y = sqrt(x) where x > 1e-5, else 0;
/// NaN stays NaN.   Gradient: dx = dy / (2 y) where y is not 0, else 0.
Tensor deviation(const Tensor& x);
Variable deviation(const Variable& x);

}  // namespace rodeo
