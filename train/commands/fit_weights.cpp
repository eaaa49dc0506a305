#include "train/commands/fit_weights.h"

#include <algorithm>

#include "core/quoting.h"

namespace rodeo {
namespace {

const Tensor* find(const StateDict& state, const std::string& name) {
  for (const auto& [own, value] : state)
    if (own == name) return &value;
  return nullptr;
}

}  // namespace

StateDict fit_weights(const StateDict& expected, const StateDict& found, const std::string& where,
                      const std::string& model, const std::string& hint) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> problems;
  StateDict out;
  for (const auto& [name, want] : expected) {
    const Tensor* got = find(found, name);
    if (!got)
      problems.push_back(str("expected ", name, " ", want.shape(), ", found none"));
    else if (got->shape() != want.shape() || is_float(got->dtype()) != is_float(want.dtype()))
      problems.push_back(
          str("expected ", name, " ", want.shape(), ", found ", got->dtype(), " ", got->shape()));
    else
      out.emplace_back(name, is_float(want.dtype()) ? got->to(want.dtype()) : *got);
  }
  for (const auto& [name, value] : found)
    if (!find(expected, name) && !name.ends_with("num_batches_tracked"))
      problems.push_back(str("unexpected ", printable(name), " ", value.shape()));
  if (problems.empty()) return out;
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += (i ? "; " : "") + problems[i];
  if (problems.size() > kShown) text += str("; and ", problems.size() - kShown, " more");
  fail(where, ": does not fit ", model, ": ", text, hint);
}

}  // namespace rodeo
