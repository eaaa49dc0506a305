#include "ops/spmm_types.h"

#include <ostream>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<Reduce, std::string_view> kReductions[] = {
    {Reduce::kSum, "sum"}, {Reduce::kMean, "mean"}, {Reduce::kMax, "max"}, {Reduce::kMin, "min"}};

constexpr std::pair<Accumulate, std::string_view> kAccumulations[] = {{Accumulate::kOrdered, "ordered"},
                                                                      {Accumulate::kAtomic, "atomic"}};

}  // namespace

std::string_view name(Accumulate accumulate) {
  for (const auto& [value, text] : kAccumulations)
    if (value == accumulate) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, Accumulate accumulate) {
  return out << name(accumulate);
}

Accumulate parse_accumulate(std::string_view text) {
  for (const auto& [value, known] : kAccumulations)
    if (known == text) return value;
  fail("unknown accumulation '", text, "': expected one of ordered, atomic");
}

std::ostream& operator<<(std::ostream& out, const RodeOptions& options) {
  out << "split ";
  if (options.split == 0)
    out << "by size";
  else
    out << options.split;
  return out << ", block " << options.block;
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
