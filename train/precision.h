/// Number formats of a training run. Parameters, their gradients, Adam's moments and exported weights are f32
/// in all of them.
#pragma once

#include "core/dtype.h"
#include "core/enum_names.h"

namespace rodeo {

enum class Precision {
  kFp32,
  kTf32,  // f32 with TF32 matrix products: inputs rounded to 10 bits of mantissa
  kBf16,  // features, activations and their gradients are bf16; sums, losses and metrics f32 or better
};
template <>
inline constexpr auto kEnumNames<Precision> = enum_names<Precision>(
    {{Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBf16, "bf16"}}, "precision");

/// The dtype of features, activations and edge weights.
constexpr DType activation_dtype(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace rodeo
