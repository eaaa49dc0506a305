/// The arithmetic that the runtime itself needs, on either device.
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// a + b, same shape, dtype (any) and device; 16-bit floats are added in f32. Throws Error where they
/// disagree.
Tensor add_tensors(const Tensor& a, const Tensor& b);

}  // namespace rodeo
