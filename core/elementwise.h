/// Elementwise kernels that the tensor runtime itself needs. elementwise.cpp also defines Tensor::fill() and
/// Tensor::to(DType).
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// a + b for tensors of the same shape, dtype and device; 16-bit floats are added in f32. Throws Error if
/// they differ.
Tensor add_tensors(const Tensor& a, const Tensor& b);
/// sum += term, in the memory of sum. Bits and errors are those of add_tensors().
void add_in_place(const Tensor& sum, const Tensor& term);

}  // namespace rodeo
