/// The norm of many tensors together. Deterministic.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// The sum of the squares of all elements of all tensors, as a scalar: [] f64, on their device. Not finite
/// where an element of f32, f16 or bf16 is not.
///   xs  any shapes, floating-point dtypes; at least one, all on one device
/// Throws rodeo::Error where they are not. Same device, same bits.
Tensor sum_squares(const std::vector<Tensor>& xs);

/// Gradients scaled so that their norm together is at most max_norm, as torch.nn.utils.clip_grad_norm_ does:
///   y_i = x_i * min(1, max_norm / (sqrt(sum of all squares) + 1e-6))
///   xs  any shapes, f32 or f64, at least one, all on one device; returned are tensors alike, the xs stay
/// The host does not wait, so that it may be captured in a CUDA graph. NaN in any makes all NaN. Throws
/// rodeo::Error for max_norm that is not above 0. Same device, same bits.
std::vector<Tensor> clip_norm(const std::vector<Tensor>& xs, double max_norm);

}  // namespace rodeo
