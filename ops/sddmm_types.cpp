#include "ops/sddmm_types.h"

#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<SddmmAlgorithm, std::string_view> kAlgorithms[] = {
    {SddmmAlgorithm::kAuto, "auto"}, {SddmmAlgorithm::kRows, "rows"}, {SddmmAlgorithm::kEdges, "edges"}};

}  // namespace

std::string_view name(SddmmOp op) {
  return op == SddmmOp::kDot ? "dot" : op == SddmmOp::kAdd ? "add" : "mul";
}

std::ostream& operator<<(std::ostream& out, SddmmOp op) {
  return out << name(op);
}

std::string_view name(SddmmAlgorithm algorithm) {
  for (const auto& [value, text] : kAlgorithms)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SddmmAlgorithm algorithm) {
  return out << name(algorithm);
}

SddmmAlgorithm parse_sddmm_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kAlgorithms) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown sddmm algorithm '", text, "': expected one of ", choices);
}

}  // namespace rodeo
