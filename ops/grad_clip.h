/// Gradient clipping by the joint norm of many tensors. Deterministic: same inputs, same device, same bits.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// The sum of the squares of all elements of all tensors: [] f64, on their device. Not finite where an
/// element of f32, f16 or bf16 is not.
///   xs  any shapes, floating dtypes; at least one, all on one device
/// Throws rodeo::Error otherwise.
Tensor sum_squares(const std::vector<Tensor>& xs);

/// Scales gradients so that their joint norm is at most max_norm, as torch.nn.utils.clip_grad_norm_:
///   y_i = x_i * min(1, max_norm / (sqrt(sum of all squares) + 1e-6))
///   xs       any shapes, f32 or f64, at least one, all on one device; not modified
///   returns  one new tensor for each of xs
/// The host does not wait for the device, so that the call can be captured in a CUDA graph. A NaN in any
/// tensor makes all elements NaN. Throws rodeo::Error for max_norm <= 0.
std::vector<Tensor> clip_norm(const std::vector<Tensor>& xs, double max_norm);

}  // namespace rodeo
