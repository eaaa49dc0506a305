#include "core/dtype.h"

namespace rodeo {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kU8:
      return 1;
  }
  return 0;
}

Float16::Float16(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000);
  const std::uint32_t magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) {  // NaN
    bits = sign | 0x7e00;
  } else if (magnitude >= 0x477ff000) {  // rounds past 65504
    bits = sign | 0x7c00;
  } else if (magnitude < 0x38800000) {  // subnormal: let the float adder round at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000);
  } else {
    const std::uint32_t rebased = magnitude - 0x38000000;
    bits = sign | static_cast<std::uint16_t>((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13);
  }
}

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

}  // namespace rodeo
