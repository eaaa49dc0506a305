/// Losses of node regression.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// Mean of d^2 (mse_loss) or |d| (l1_loss), d = x[i, j] - target[i, j], over all j and all i in index, or all
/// i where index is undefined: PyTorch's mse_loss and l1_loss with reduction 'mean'.
///   x       [nodes] or [nodes, c]  f64, f32, bf16 or f16
///   target  shape and dtype of x; a constant
///   index   [k]                    i64, k >= 1, values in [0, nodes), checked as index_checks.h says; nodes
///                                  may repeat
///   returns []                     summed in f64 in a fixed order; f32 for 16-bit x, else x's dtype
/// Gradient: dx[i, j] += 2 dy d / (k c) or dy sign(d) / (k c) for every i in index, zero elsewhere; the sign
/// of 0 is 0.
/// Deterministic. Throws Error when shapes, dtypes or devices disagree, and for a mean over no element.
Tensor mse_loss(const Tensor& x, const Tensor& target, const Tensor& index = {});
Variable mse_loss(const Variable& x, const Tensor& target, const Tensor& index = {});
Tensor l1_loss(const Tensor& x, const Tensor& target, const Tensor& index = {});
Variable l1_loss(const Variable& x, const Tensor& target, const Tensor& index = {});

}  // namespace rodeo
