#include "ops/spmm_types.h"

#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmmAlgorithm, std::string_view> kAlgorithms[] = {{SpmmAlgorithm::kAuto, "auto"},
                                                                      {SpmmAlgorithm::kCsr, "csr"},
                                                                      {SpmmAlgorithm::kRode, "rode"},
                                                                      {SpmmAlgorithm::kTca, "tca"},
                                                                      {SpmmAlgorithm::kCusparse, "cusparse"}};

constexpr std::pair<Reduce, std::string_view> kReductions[] = {
    {Reduce::kSum, "sum"}, {Reduce::kMean, "mean"}, {Reduce::kMax, "max"}, {Reduce::kMin, "min"}};

}  // namespace

std::string_view name(SpmmAlgorithm algorithm) {
  for (const auto& [value, text] : kAlgorithms)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmmAlgorithm parse_spmm_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kAlgorithms) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown spmm algorithm '", text, "': expected one of ", choices);
}

std::string_view name(Reduce reduce) {
  for (const auto& [value, text] : kReductions)
    if (value == reduce) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, Reduce reduce) {
  return out << name(reduce);
}

Reduce parse_reduce(std::string_view text) {
  for (const auto& [value, known] : kReductions)
    if (known == text) return value;
  fail("unknown reduction '", text, "': expected one of sum, mean, max, min");
}

}  // namespace rodeo
