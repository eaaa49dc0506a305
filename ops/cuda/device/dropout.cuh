/// Which random words drop an element.
#pragma once

#include <cmath>
#include <cstdint>

namespace rodeo::kernels::cuda {

/// to_unit(word) < p (core/random.h), compared as integers: both sides are exact multiples of 2^-24.
class DropsBelow {
 public:
  explicit DropsBelow(float p) : limit_(static_cast<std::uint32_t>(std::ceil(p * 0x1p24f))) {}
  __device__ bool operator()(std::uint32_t word) const { return word >> 8 < limit_; }

 private:
  std::uint32_t limit_;
};

}  // namespace rodeo::kernels::cuda
