/// Random operands, and comparison with float64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo::test {

/// Values in [-1, 1), rounded to `dtype`.
inline Tensor random_tensor(const Shape& shape, DType dtype, Device device, std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * to_unit(random_word(seed, 77, i)) - 1;
  return Tensor::from(values, shape).to(dtype).to(device);
}

inline std::vector<double> doubles(const Tensor& tensor) {
  return tensor.to(kCpu).to(DType::kF64).to_vector<double>();
}

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

/// |got - want| <= rtol * scale + atol for all elements; `scale` (default: |want|) is what rounding is
/// relative to.
inline testing::AssertionResult near(const Tensor& got, const std::vector<double>& want, double rtol,
                                     double atol = 1e-30, const std::vector<double>& scale = {}) {
  const std::vector<double> values = doubles(got);
  if (values.size() != want.size())
    return testing::AssertionFailure() << values.size() << " elements, expected " << want.size();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double bound = rtol * (scale.empty() ? std::abs(want[i]) : scale[i]) + atol;
    if (!(std::abs(values[i] - want[i]) <= bound))  // NaN fails
      return testing::AssertionFailure() << "element " << i << " of " << got.shape() << ": got " << values[i]
                                         << ", expected " << want[i] << " +- " << bound;
  }
  return testing::AssertionSuccess();
}

/// Equal to the bit.
inline testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    return testing::AssertionFailure()
           << a.dtype() << " " << a.shape() << " and " << b.dtype() << " " << b.shape();
  std::vector<unsigned char> left(static_cast<std::size_t>(a.nbytes())), right(left.size());
  a.copy_to_host(left.data());
  b.copy_to_host(right.data());
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] != right[i])
      return testing::AssertionFailure()
             << "differ first in element " << i / size_of(a.dtype()) << " of " << a.shape();
  return testing::AssertionSuccess();
}

}  // namespace rodeo::test
