/// Conversion of an option's text to its type. An error names the option and the accepted range:
/// "--lr must be a number above 0, got '-1'".
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace rodeo {

/// Throws Error for an empty text, and for the next option where a value was expected.
inline void check_option_has_value(std::string_view option, const std::string& text) {
  check(!text.empty() && !text.starts_with("--"), "--", option, " needs a value");
}

/// `rule` completes "must be ..."; is_valid(value) must be false for NaN.
template <class T, class IsValid>
T parse_option_number(std::string_view option, const std::string& text, const std::string& rule,
                      IsValid&& is_valid) {
  check_option_has_value(option, text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && is_valid(value), "--", option,
        " must be ", rule, ", got '", text, "'");
  return value;
}

template <class T>
T parse_option_integer(std::string_view option, const std::string& text, T lowest,
                       T highest = std::numeric_limits<T>::max()) {
  const bool bounded = highest < std::numeric_limits<T>::max();
  return parse_option_number<T>(
      option, text,
      bounded ? str("an integer in [", lowest, ", ", highest, "]") : str("an integer of at least ", lowest),
      [&](T value) { return value >= lowest && value <= highest; });
}

/// Numbers separated by commas, at least one.
template <class T, class IsValid>
std::vector<T> parse_option_numbers(std::string_view option, const std::string& text, std::string_view rule,
                                    IsValid&& is_valid) {
  check_option_has_value(option, text);
  std::vector<T> values;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at <= end;) {
    const auto [stop, error] = std::from_chars(at, end, values.emplace_back());
    check(error == std::errc{} && (stop == end || *stop == ',') && is_valid(values.back()), "--", option,
          " must be ", rule, ", got '", text, "'");
    at = stop + 1;
  }
  return values;
}

/// "true" and "false"; "1" and "0" as on the command line.
inline bool parse_option_flag(std::string_view option, const std::string& text) {
  const bool on = text == "true" || text == "1";
  check(on || text == "false" || text == "0", "--", option, " takes no value, got '", text, "'");
  return on;
}

}  // namespace rodeo
