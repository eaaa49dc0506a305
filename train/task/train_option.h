/// One row of the option table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "train/task/options.h"

namespace rodeo {

/// What an option decides.
enum class OptionRole {
  kModel,     // the model and its input: needed to use the weights
  kTraining,  // with kModel, the values that training computes
  kRun,       // how, where and how long training runs, and which files it writes
};

/// std::monostate: not set, as the --split of a run that uses the dataset's masks.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
/// "16", "0.01", "true"; empty for std::monostate.
std::string to_text(const OptionValue& value);

struct TrainOption {
  std::string_view group;  // heading in --help
  OptionRole role;
  std::string_view name;  // without dashes
  std::string help;
  std::string hint;          // the value's placeholder in --help: "N", "FILE", "a|b"; empty for a flag
  std::string default_text;  // in --help; empty: none is shown
  std::function<OptionValue(const TrainOptions&)> get;
  std::function<void(TrainOptions&, const std::string& text)> set;  // throws Error for a value out of range

  bool is_flag() const { return hint.empty(); }
};

}  // namespace rodeo
