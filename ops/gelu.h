/// The activation of Hendrycks & Gimpel, "Gaussian error linear units" (2016).
#pragma once

#include "core/variable.h"

namespace rodeo {

/// y = x P(Z <= x), where Z is a standard normal variable: torch.nn.functional.gelu(x), without the tanh
/// approximation. Any shape; f64, f32, bf16 or f16; 16-bit types are computed in f32. NaN stays NaN.
/// Gradient: dx = dy (P(Z <= x) + x p(x)), where p is the normal density; backward reads x.
/// Deterministic. Throws rodeo::Error for a dtype that is not floating point.
Tensor gelu(const Tensor& x);
Variable gelu(const Variable& x);

}  // namespace rodeo
