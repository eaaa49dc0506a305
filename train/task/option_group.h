/// Builders for the rows of the option table, one for each type of value.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "train/task/option_value.h"
#include "train/task/train_option.h"

namespace rodeo {

/// Layers and propagation steps: weights of others may claim any number.
inline constexpr int kMostLayers = 10'000;

/// A member of the options, of their learning rate schedule, optimizer or trunk.
template <class Options, class T, class Part>
auto& at(Options& options, T Part::*member) {
  if constexpr (std::is_same_v<Part, LrScheduleOptions>)
    return options.schedule.*member;
  else if constexpr (std::is_same_v<Part, OptimizerOptions>)
    return options.optimizer.*member;
  else if constexpr (std::is_same_v<Part, TrunkParts>)
    return options.trunk.*member;
  else
    return options.*member;
}

inline bool is_probability(double p) {
  return p >= 0 && p < 1;
}
inline bool is_not_negative(double x) {
  return x >= 0 && std::isfinite(x);
}

/// Collects the rows of one group.
class OptionGroup {
 public:
  OptionGroup(std::vector<TrainOption>& table, std::string_view name, const TrainOptions& defaults)
      : table_(table), name_(name), defaults_(defaults) {}

  TrainOption& add(OptionKind kind, std::string_view name, std::string help, std::string hint,
                   std::function<OptionValue(const TrainOptions&)> get,
                   std::function<void(TrainOptions&, const std::string&)> set) {
    OptionValue value = get(defaults_);
    std::string text = hint.empty() ? "" : to_text(value);
    table_.push_back({name_, kind, name, std::move(help), std::move(hint), std::move(text), std::move(value),
                      std::move(get), std::move(set)});
    return table_.back();
  }

  /// This table under another heading.
  OptionGroup under(std::string_view heading) const { return {table_, heading, defaults_}; }

  template <class Field>
  TrainOption& integer(OptionKind kind, std::string_view name, Field field, int lowest, std::string help,
                       int highest = std::numeric_limits<int>::max()) {
    return add(
        kind, name, std::move(help), "N",
        [field](const TrainOptions& o) -> OptionValue { return at(o, field); },
        [=](TrainOptions& o, const std::string& text) {
          using T = std::remove_reference_t<decltype(at(o, field))>;
          constexpr int kNone = std::numeric_limits<int>::max();
          at(o, field) = parse_option_integer<T>(
              name, text, static_cast<T>(lowest),
              highest < kNone ? static_cast<T>(highest) : std::numeric_limits<T>::max());
        });
  }

  /// `rule` completes "must be ...".
  template <class Field, class IsValid>
  TrainOption& number(OptionKind kind, std::string_view name, Field field, std::string rule, IsValid is_valid,
                      std::string help, std::string hint = "X") {
    return add(
        kind, name, std::move(help), std::move(hint),
        [field](const TrainOptions& o) -> OptionValue { return at(o, field); },
        [=](TrainOptions& o, const std::string& text) {
          at(o, field) = parse_option_number<double>(name, text, rule, is_valid);
        });
  }
  template <class Field>
  TrainOption& not_negative(OptionKind kind, std::string_view name, Field field, std::string help) {
    return number(kind, name, field, "a number of at least 0", is_not_negative, std::move(help));
  }
  template <class Field>
  TrainOption& probability(OptionKind kind, std::string_view name, Field field, std::string help) {
    return number(kind, name, field, "a number in [0, 1)", is_probability, std::move(help), "P");
  }

  /// An enum, by its names.
  template <class Field>
  TrainOption& choice(OptionKind kind, std::string_view name, Field field, std::string help) {
    using Enum = std::remove_cvref_t<decltype(at(defaults_, field))>;
    return add(
        kind, name, std::move(help), kEnumNames<Enum>.names("|"),
        [field](const TrainOptions& o) { return std::string(rodeo::name(at(o, field))); },
        [=](TrainOptions& o, const std::string& text) {
          check_option_has_value(name, text);
          at(o, field) = parse_name<Enum>(str("--", name), text);
        });
  }

  /// A bool that is written as one of two words.
  template <class Field>
  TrainOption& two_words(OptionKind kind, std::string_view name, Field field, std::string on, std::string off,
                         std::string help) {
    return add(
        kind, name, std::move(help), str(on, "|", off),
        [=](const TrainOptions& o) { return at(o, field) ? on : off; },
        [=](TrainOptions& o, const std::string& text) {
          check_option_has_value(name, text);
          check(text == on || text == off, "--", name, " must be ", on, " or ", off, ", got '", text, "'");
          at(o, field) = text == on;
        });
  }

  /// A text without a default; empty is not set. `check_text` throws Error for a text that it cannot be.
  template <class Field>
  TrainOption& text(OptionKind kind, std::string_view name, Field field, std::string hint, std::string help,
                    void (*check_text)(const std::string&) = nullptr) {
    return add(
        kind, name, std::move(help), std::move(hint),
        [field](const TrainOptions& o) {
          return at(o, field).empty() ? OptionValue() : OptionValue(at(o, field));
        },
        [=](TrainOptions& o, const std::string& text) {
          check_option_has_value(name, text);
          if (check_text) check_text(text);
          at(o, field) = text;
        });
  }

  /// A flag sets its field to `when_given`.
  template <class Field>
  TrainOption& flag(OptionKind kind, std::string_view name, Field field, std::string help,
                    bool when_given = true) {
    return add(
        kind, name, std::move(help), "",
        [=](const TrainOptions& o) -> OptionValue { return at(o, field) == when_given; },
        [=](TrainOptions& o, const std::string& text) {
          at(o, field) = parse_option_flag(name, text) == when_given;
        });
  }

 private:
  std::vector<TrainOption>& table_;
  std::string_view name_;
  const TrainOptions& defaults_;
};

}  // namespace rodeo
