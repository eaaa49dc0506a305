#include "train/commands/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "core/host/terminal.h"
#include "core/text.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

bool has_option(const TrainOptions& model, std::string_view name) {
  const std::vector<TrainOption> table = option_table(model);
  return std::any_of(table.begin(), table.end(), [&](const TrainOption& row) { return row.name == name; });
}

/// "gat, gatv2 and gin"
std::string list_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += str(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return text;
}

/// The models that have the option.
std::string owners(std::string_view option) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : model_registry())
    if (has_option(published_options(entry.name), option)) names.push_back(entry.name);
  return list_names(names);
}

/// The tasks in which the model has the option.
std::string tasks_of(std::string_view option, std::string_view model) {
  std::vector<std::string_view> names;
  for (const auto& [task, text] : kEnumNames<TaskKind>.rows) {
    if (task == TaskKind::kGraph && !find_model(model).graphs) continue;
    if (has_option(published_options(model, task), option)) names.push_back(text);
  }
  return list_names(names);
}

/// A hint that fits behind the option: choices that do not are left out.
std::string short_hint(std::string_view hint) {
  constexpr std::size_t kMost = 14;
  if (hint.size() <= kMost) return std::string(hint);
  const std::size_t bar = hint.rfind('|', kMost - 4);
  return bar == hint.npos ? "NAME" : str(hint.substr(0, bar), "|...");
}

/// Values by the names of other programs, in lower case.
struct OtherValue {
  std::string_view option, theirs, text;
};
constexpr OtherValue kOtherValues[] = {
    {"metric", "r2", "R^2 is the metric of labels that are numbers: leave --metric out"},
    {"metric", "r^2", "R^2 is the metric of labels that are numbers: leave --metric out"},
    {"metric", "f1", "it is macro-f1; micro-F1 is the default where nodes have several labels"},
    {"metric", "micro-f1", "it is the default where nodes have several labels, and else the accuracy"},
    {"metric", "auc", "it is roc-auc"},
    {"metric", "mrr", "of missing edges it is --task link --link-metric mrr"}};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string more_help(const TrainOptions& options) {
  std::vector<std::string_view> models, tasks;
  for (const ModelEntry& entry : model_registry())
    if (options.choose_model && entry.name != options.model) models.push_back(entry.name);
  for (const auto& [task, text] : kEnumNames<TaskKind>.rows)
    if (task != options.task) tasks.push_back(text);
  return str("More options: --help kernels has those that choose and time kernels and place data; --task ",
             join(tasks, "|"), " --help those of other tasks",
             models.empty() ? "" : str(", --model ", join(models, "|"), " --help those of other models"),
             ". Those above are of ", options.model, ", --task ", name(options.task), ".");
}

void check_other_value(const GivenOption& option) {
  for (const OtherValue& other : kOtherValues)
    check(option.name != other.option || lower(option.text) != other.theirs, "--", option.name, " ",
          option.text, ": ", other.text);
}

std::string help_examples(const std::string& program, bool choose_model) {
  const std::string start = program + (choose_model ? " --model sage" : "");
  return str("Examples:\n  ", start, " cora.h5\n  ", start,
             " cora.h5 --split 60/20/20 --epochs 500 --patience 50\n  ", start,
             " cora.h5 --report run.html --export w.safetensors\n");
}

std::string short_help(const std::string& program, bool choose_model, const std::vector<TrainOption>& table) {
  const int width = help_width();
  std::string text =
      str("Usage: ", program, choose_model ? " --model NAME" : "", " [--dataset] FILE [options]\n\n");
  constexpr int kColumn = 26;
  const auto line = [&](const std::string& left, const std::string& right) {
    const bool fits = static_cast<int>(left.size()) + 1 < kColumn;
    text += fits ? fmt::format("{:<{}}", left, kColumn) : left + "\n" + std::string(kColumn, ' ');
    text += wrap(std::string(kColumn, '.') + right, width, kColumn).substr(kColumn) + "\n";
  };
  for (const TrainOption& option : table) {
    if (!option.is(OptionFlag::kShort) || (option.name == "model" && !choose_model)) continue;
    const bool shown = !option.default_text.empty() && !option.is_flag();
    line(str("  --", option.name, option.is_flag() ? "" : " ", short_hint(option.hint)),
         str(option.help, shown ? str(" (default: ", option.default_text, ")") : ""));
  }
  line("  --help", "All options");
  return text + "\n" + help_examples(program, choose_model);
}

std::string unknown_option(std::string_view argument, std::string_view model,
                           const std::vector<std::string>& known) {
  const std::string option(argument.substr(0, argument.find('=')));
  std::string_view name = option;
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text = str("unknown option '", option, "'");
  if (name == "model") return str(text, ": this command trains ", model, " only, rodeo_train has all models");
  if (name.size() > 1) {
    if (const std::string tasks = tasks_of(name, model); !tasks.empty())
      return str(text, " for this --task: it is of --task ", tasks);
    if (const std::string others = owners(name); !others.empty())
      return str(text, " for the model ", model, ": it is of ", others);
    for (const ModelEntry& entry : model_registry())
      if (!tasks_of(name, entry.name).empty())
        return str(text, " for the model ", model, ": it is of --task graph");
  }
  constexpr std::string_view kSeeds[] = {"repeat", "repeats", "runs"};  // of other programs
  if (std::ranges::count(kSeeds, name) > 0 && std::ranges::count(known, "seeds") > 0)
    return str(
        text,
        ": --seeds N trains N times, with --seed and the numbers after it, and prints mean and deviation");
  const std::string meant = closest(name, known);
  return str(text, meant.empty() ? "" : str(": did you mean --", meant, "?"),
             meant.empty() ? "; see --help" : "");
}

}  // namespace rodeo
