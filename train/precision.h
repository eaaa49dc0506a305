/// In which numbers a network is computed. Parameters, their gradients and Adam's moments are f32 in all of
/// them, and so are the weights that are written.
#pragma once

#include <string_view>

#include "core/dtype.h"

namespace rodeo {

enum class Precision {
  kFp32,
  kTf32,  // f32, but matrix products round their inputs to 10 bits of mantissa
  kBf16,  // features, activations and their gradients are bf16; sums, losses and metrics f32 or better
};
std::string_view name(Precision precision);  // "fp32"
/// "fp32", "tf32" or "bf16"; throws Error for anything else, naming the choices.
Precision parse_precision(std::string_view text);

/// Of features, activations and edge weights.
constexpr DType activation_dtype(Precision precision) {
  return precision == Precision::kBf16 ? DType::kBF16 : DType::kF32;
}

}  // namespace rodeo
