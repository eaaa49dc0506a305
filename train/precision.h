/// Number formats of a training run. Parameters, their gradients, Adam's moments and exported weights are f32
/// in all of them.
#pragma once

#include <string_view>

#include "core/dtype.h"

namespace rodeo {

enum class Precision {
  kFp32,
  kTf32,  // f32 with TF32 matrix products: inputs rounded to 10 bits of mantissa
  kBf16,  // features, activations and their gradients are bf16; sums, losses and metrics f32 or better
};
std::string_view name(Precision precision);  // "fp32"
/// "fp32", "tf32" or "bf16". Throws Error listing the choices for anything else.
Precision parse_precision(std::string_view text);

/// The dtype of features, activations and edge weights.
constexpr DType activation_dtype(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace rodeo
