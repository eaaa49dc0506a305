/// Names of an enum's values. One table for each enum gives the text of a value, its parsing, and the choices
/// that help and errors list:
///   enum class Shape { kRound, kFlat };
///   template <>
///   inline constexpr auto kEnumNames<Shape> =
///       enum_names<Shape>({{Shape::kRound, "round"}, {Shape::kFlat, "flat"}});
#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/error.h"

namespace rodeo {

template <class T>
struct EnumName {
  T value;
  std::string_view name;
};

/// The names of some or all values of T, in the order in which texts list them.
template <class T, std::size_t N>
struct EnumNames {
  EnumName<T> rows[N];
  std::string_view what;  // "spmm algorithm": how errors call a value; empty: by the option

  /// "?" for a value without a name.
  constexpr std::string_view name(T value) const {
    for (const EnumName<T>& row : rows)
      if (row.value == value) return row.name;
    return "?";
  }

  constexpr std::optional<T> find(std::string_view text) const {
    for (const EnumName<T>& row : rows)
      if (row.name == text) return row.value;
    return std::nullopt;
  }

  /// "auto, rows, edges"
  std::string names(std::string_view separator = ", ") const { return names(separator, separator); }

  /// Throws Error for a text that is no name, and lists the choices: "unknown spmm algorithm 'x': expected
  /// one of auto, csr", or without `what` "--task must be node, link or graph, got 'x'".
  T parse(std::string_view option, std::string_view text) const {
    if (const std::optional<T> value = find(text)) return *value;
    if (!what.empty()) fail("unknown ", what, " '", text, "': expected one of ", names());
    fail(option, " must be ", names(", ", " or "), ", got '", text, "'");
  }

 private:
  std::string names(std::string_view separator, std::string_view last) const {
    std::string all;
    for (std::size_t i = 0; i < N; ++i)
      all.append(i == 0 ? "" : i + 1 < N ? separator : last).append(rows[i].name);
    return all;
  }
};

template <class T, std::size_t N>
constexpr EnumNames<T, N> enum_names(const EnumName<T> (&rows)[N], std::string_view what = {}) {
  EnumNames<T, N> names{};
  for (std::size_t i = 0; i < N; ++i) names.rows[i] = rows[i];
  names.what = what;
  return names;
}

/// The table of T, next to the enum: a specialisation.
template <class T>
inline constexpr int kEnumNames = 0;

/// An enum that has a table.
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires {
  kEnumNames<T>.rows;
};

template <NamedEnum T>
constexpr std::string_view name(T value) {
  return kEnumNames<T>.name(value);
}

template <NamedEnum T>
std::ostream& operator<<(std::ostream& out, T value) {
  return out << name(value);
}

/// The value of that name; `option` begins the Error of EnumNames::parse().
template <NamedEnum T>
T parse_name(std::string_view option, std::string_view text) {
  return kEnumNames<T>.parse(option, text);
}

}  // namespace rodeo
