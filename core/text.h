/// Lists and counts in messages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace rodeo {

/// The elements of a range with `between` between them. text: what is written of an element, a function or a
/// member; all that str() takes.
template <class Range, class Text = std::identity>
std::string join(Range&& range, std::string_view between = ", ", Text&& text = {}) {
  std::string all;
  std::string_view before;
  for (const auto& each : range) {
    all += str(before, std::invoke(text, each));
    before = between;
  }
  return all;
}

/// "1 edge", "2 epochs", "0 classes".   one: a word with the plural of one of these
inline std::string count_of(std::int64_t count, std::string_view one) {
  return str(count, ' ', one, count == 1 ? "" : one.ends_with('s') ? "es" : "s");
}

}  // namespace rodeo
