/// Element types of tensors, and host types for the 16-bit floats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "core/enum_names.h"

namespace rodeo {

enum class DType : std::uint8_t { kF64, kF32, kBF16, kF16, kI64, kI32, kU8 };

template <>
inline constexpr auto kEnumNames<DType> = enum_names<DType>({{DType::kF64, "f64"},
                                                             {DType::kF32, "f32"},
                                                             {DType::kBF16, "bf16"},
                                                             {DType::kF16, "f16"},
                                                             {DType::kI64, "i64"},
                                                             {DType::kI32, "i32"},
                                                             {DType::kU8, "u8"}});

/// Bytes of one element.
std::size_t size_of(DType dtype);
constexpr bool is_float(DType dtype) {
  return dtype <= DType::kF16;
}

/// bfloat16: the upper half of a float. Rounds to nearest even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value), half = 0x7fff + ((word >> 16) & 1);
    bits = static_cast<std::uint16_t>((value != value ? word | 0x400000 : word + half) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// IEEE 754 binary16. Rounds to nearest even; overflows to infinity; NaN stays NaN.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, Float16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::kI64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::kI32;
  else {
    static_assert(std::is_same_v<T, std::uint8_t>, "not an element type of a tensor");
    return DType::kU8;
  }
}

/// Calls f(T{}) with the host type T of `dtype`. Throws Error for integers; `op` is the prefix of the text.
template <class F>
decltype(auto) dispatch_float(DType dtype, std::string_view op, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f(double{});
    case DType::kF32:
      return f(float{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kF16:
      return f(Float16{});
    default:
      fail("[", op, "] needs a floating-point tensor (f64, f32, bf16, f16), got ", dtype);
  }
}

template <class F>
decltype(auto) dispatch_all(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kU8:
      return f(std::uint8_t{});
    default:
      return dispatch_float(dtype, "dispatch", static_cast<F&&>(f));
  }
}

/// The accumulator type for sums of T: double for double, float for smaller floats.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace rodeo
