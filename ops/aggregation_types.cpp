#include "ops/aggregation_types.h"

#include <ostream>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<Aggregation, std::string_view> kForms[] = {{Aggregation::kAuto, "auto"},
                                                               {Aggregation::kRows, "rows"},
                                                               {Aggregation::kOverlap, "overlap"},
                                                               {Aggregation::kColumns, "columns"},
                                                               {Aggregation::kHalo, "halo"}};

}  // namespace

std::string_view name(Aggregation form) {
  for (const auto& [value, text] : kForms)
    if (value == form) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, Aggregation form) {
  return out << name(form);
}

std::string aggregation_names(std::string_view separator) {
  std::string names;
  for (const auto& [value, text] : kForms) names.append(names.empty() ? "" : separator).append(text);
  return names;
}

Aggregation parse_aggregation(std::string_view text) {
  for (const auto& [value, known] : kForms)
    if (known == text) return value;
  fail("unknown aggregation '", text, "': expected one of ", aggregation_names());
}

}  // namespace rodeo
