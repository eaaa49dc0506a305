#include "ops/spmv_types.h"

#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmvAlgorithm, std::string_view> kNames[] = {{SpmvAlgorithm::kAuto, "auto"},
                                                                 {SpmvAlgorithm::kVector, "vector"},
                                                                 {SpmvAlgorithm::kRode, "rode"},
                                                                 {SpmvAlgorithm::kSegmented, "segmented"}};

}  // namespace

std::string_view name(SpmvAlgorithm algorithm) {
  for (const auto& [value, text] : kNames)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmvAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmvAlgorithm parse_spmv_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kNames) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown spmv algorithm '", text, "': expected one of ", choices);
}

}  // namespace rodeo
