/// One row of the option table.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "train/task/options.h"

namespace rodeo {

/// What an option decides.
enum class OptionRole {
  kModel,     // the model and its input: needed to use the weights
  kTraining,  // with kModel, the values that training computes
  kRun,       // how, where and how long training runs, and which files it writes
};

/// What lists of options ask for.
enum class OptionFlag : unsigned {
  kNode = 1,  // tasks that have the option; without one of these three, all have it
  kLink = 2,
  kGraph = 4,
  kShort = 8,        // in the short help, -h
  kCommand = 16,     // of commands only: rodeo.train has no such option
  kOneRun = 32,      // what it writes is of one run: not with --seeds, --splits and folds
  kLogged = 64,      // with kOneRun: --log has it for each run, too
  kInBatches = 128,  // says how --batch N works
  kDropout = 256,    // of kModel: has no effect on predictions
};

/// A role and flags: kTraining | kNode.
struct OptionKind {
  OptionRole role;
  unsigned flags = 0;
  // NOLINTNEXTLINE(google-explicit-constructor): a role alone is a kind
  constexpr OptionKind(OptionRole role, unsigned flags = 0) : role(role), flags(flags) {}
};
constexpr OptionKind operator|(OptionKind kind, OptionFlag flag) {
  return {kind.role, kind.flags | static_cast<unsigned>(flag)};
}

/// std::monostate: not set, as the --split of a run that uses the dataset's masks.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
/// "16", "0.01", "true"; empty for std::monostate.
inline std::string to_text(const OptionValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return std::string();
        else
          return fmt::format("{}", v);
      },
      value);
}

struct TrainOption {
  std::string_view group;  // heading in --help
  OptionKind kind;
  std::string_view name;  // without dashes
  std::string help;
  std::string hint;          // the value's placeholder in --help: "N", "FILE", "a|b"; empty for a flag
  std::string default_text;  // in --help; empty: none is shown
  OptionValue default_value;
  std::function<OptionValue(const TrainOptions&)> get;
  std::function<void(TrainOptions&, const std::string& text)> set;  // throws Error for a value out of range
  std::string belongs_to = {};  // "--optimizer sgd": where it has a value; empty: always

  bool is_flag() const { return hint.empty(); }
  bool is(OptionRole role) const { return kind.role == role; }
  bool is(OptionFlag flag) const { return (kind.flags & static_cast<unsigned>(flag)) != 0; }
  bool is_of(TaskKind task) const {
    using enum OptionFlag;
    const bool of_all = !is(kNode) && !is(kLink) && !is(kGraph);
    return of_all || is(task == TaskKind::kNode ? kNode : task == TaskKind::kLink ? kLink : kGraph);
  }
};

/// A value from the command line or from a settings file.
struct GivenOption {
  std::string name;  // without dashes
  std::string text;
  std::string file;  // the settings file, for error messages; empty: the command line
};

}  // namespace rodeo
