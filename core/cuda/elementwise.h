/// Elementwise kernels of the tensor runtime. Shapes, dtypes and devices have been checked.
#pragma once

#include "core/tensor.h"

namespace rodeo::cuda {

void fill(const Tensor& out, double value);
void cast(const Tensor& x, const Tensor& out);
void add(const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace rodeo::cuda
