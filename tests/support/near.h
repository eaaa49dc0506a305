/// Random operands, and comparison with float64 references. Every loop over elements runs on all threads:
/// the tests spend most of their time here.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo::test {

/// Values in [-1, 1), rounded to `dtype`. A function of the seed and the element's index alone.
Tensor random_tensor(const Shape& shape, DType dtype, Device device, std::uint64_t seed = 1);

std::vector<double> doubles(const Tensor& tensor);

/// Unit in the last place of 1.
inline double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

/// |got - want| <= rtol * scale + atol for all elements. `scale` is the magnitude that the rounding error
/// grows with; default: |want|. NaN fails. The message names the first element that is too far away.
testing::AssertionResult near(const Tensor& got, const std::vector<double>& want, double rtol,
                              double atol = 1e-30, const std::vector<double>& scale = {});

/// Equal shape, dtype and bits.
testing::AssertionResult same_bits(const Tensor& a, const Tensor& b);

}  // namespace rodeo::test
