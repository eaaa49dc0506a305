#include "ops/spmm_types.h"

#include <ostream>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<Reduce, std::string_view> kReductions[] = {
    {Reduce::kSum, "sum"}, {Reduce::kMean, "mean"}, {Reduce::kMax, "max"}, {Reduce::kMin, "min"}};

}  // namespace

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
