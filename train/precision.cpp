#include "train/precision.h"

#include "core/error.h"

namespace rodeo {
namespace {

constexpr struct {
  Precision value;
  std::string_view name;
} kPrecisions[] = {{Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kBf16, "bf16"}};

}  // namespace

std::string_view name(Precision precision) {
  for (const auto& known : kPrecisions)
    if (known.value == precision) return known.name;
  return "?";
}

Precision parse_precision(std::string_view text) {
  for (const auto& known : kPrecisions)
    if (known.name == text) return known.value;
  fail("unknown precision '", text, "': expected one of fp32, tf32, bf16");
}

}  // namespace rodeo
