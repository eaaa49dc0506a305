#include "ops/attention_types.h"

#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<AttentionForm, std::string_view> kForms[] = {
    {AttentionForm::kAuto, "auto"}, {AttentionForm::kFused, "fused"}, {AttentionForm::kComposed, "composed"}};

}  // namespace

std::string_view name(AttentionForm form) {
  for (const auto& [value, text] : kForms)
    if (value == form) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, AttentionForm form) {
  return out << name(form);
}

AttentionForm parse_attention_form(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kForms) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown attention form '", text, "': expected one of ", choices);
}

}  // namespace rodeo
