#include "tests/support/near.h"

#include <algorithm>
#include <cstring>

namespace rodeo::test {
namespace {

constexpr std::int64_t kSerial = 16384;  // fewer elements than this do not repay waking the threads

/// The smallest i in [0, n) for which bad(i), or n.
template <class Bad>
std::int64_t first_bad(std::int64_t n, const Bad& bad) {
  std::int64_t first = n;
#pragma omp parallel for reduction(min : first) if (n > kSerial)
  for (std::int64_t i = 0; i < n; ++i)
    if (bad(i)) first = std::min(first, i);
  return first;
}

}  // namespace

Tensor random_tensor(const Shape& shape, DType dtype, Device device, std::uint64_t seed) {
  const Tensor out = Tensor::empty(shape, DType::kF32);
  const std::int64_t n = shape.numel();
  float* const values = out.data<float>();
#pragma omp parallel for if (n > kSerial)
  for (std::int64_t block = 0; block < (n + 3) / 4; ++block) {  // one Philox call makes four words
    const Philox4 words = philox(seed, 77, static_cast<std::uint64_t>(block));
    for (std::int64_t i = 4 * block; i < std::min(n, 4 * block + 4); ++i)
      values[i] = 2 * to_unit(words.word[i % 4]) - 1;
  }
  return out.to(dtype).to(device);
}

std::vector<double> doubles(const Tensor& tensor) {
  return tensor.to(kCpu).to(DType::kF64).to_vector<double>();
}

testing::AssertionResult near(const Tensor& got, const std::vector<double>& want, double rtol, double atol,
                              const std::vector<double>& scale) {
  const auto n = static_cast<std::int64_t>(want.size());
  if (got.numel() != n) return testing::AssertionFailure() << got.numel() << " elements, expected " << n;
  const Tensor host = got.to(kCpu).to(DType::kF64);
  const double* const values = host.data<double>();
  const auto bound = [&](std::int64_t i) {
    return rtol * (scale.empty() ? std::abs(want[i]) : scale[i]) + atol;
  };
  const std::int64_t i =
      first_bad(n, [&](std::int64_t j) { return !(std::abs(values[j] - want[j]) <= bound(j)); });
  if (i == n) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "element " << i << " of " << got.shape() << ": got " << values[i]
                                     << ", expected " << want[i] << " +- " << bound(i);
}

testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    return testing::AssertionFailure()
           << a.dtype() << " " << a.shape() << " and " << b.dtype() << " " << b.shape();
  const Tensor left = a.to(kCpu), right = b.to(kCpu);
  const auto* const x = static_cast<const unsigned char*>(left.raw());
  const auto* const y = static_cast<const unsigned char*>(right.raw());
  const std::int64_t bytes = a.nbytes();
  if (bytes == 0 || std::memcmp(x, y, static_cast<std::size_t>(bytes)) == 0)
    return testing::AssertionSuccess();
  const std::int64_t i = first_bad(bytes, [&](std::int64_t j) { return x[j] != y[j]; });
  return testing::AssertionFailure() << "first difference: element "
                                     << i / static_cast<std::int64_t>(size_of(a.dtype())) << " of "
                                     << a.shape();
}

}  // namespace rodeo::test
