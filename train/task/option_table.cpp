#include "train/task/option_table.h"

#include <algorithm>

#include "core/quoting.h"
#include "train/task/option_parts.h"

namespace rodeo {
namespace {

struct RenamedOption {
  std::string_view before, now;
};
constexpr RenamedOption kRenamed[] = {{"no-graph", "no-cuda-graph"}};

/// Throws Error, which begins with the option that is wrong, for options that need or exclude each other.
void check_options(const std::vector<TrainOption>& table, const TrainOptions& options,
                   const std::vector<GivenOption>& given) {
  for (const GivenOption& one : given)
    for (const TrainOption& row : table)
      check(row.name != one.name || row.belongs_to.empty() || row.get(options) != OptionValue(), "--",
            row.name, " belongs to ", row.belongs_to);
  for (const TrainOption& row : table)
    check(!row.is(OptionFlag::kInBatches) || options.batch > 0 || row.get(options) == row.default_value, "--",
          row.name, " is for mini-batches: give --batch N too");
  check_model_options(options);
  check_schedule_options(options);
  check_run_options(options);
  check_source_options(options);
  check_execution_options(options);
  check_file_options(options);
  check_output_options(options);
}

}  // namespace

std::vector<TrainOption> option_table(const TrainOptions& defaults) {
  const ConvTraits& traits = traits_of(defaults);
  std::vector<TrainOption> table;
  const auto group = [&](std::string_view name) { return OptionGroup(table, name, defaults); };
  add_data_options(group("Data"));
  add_model_options(group("Model"), find_model(defaults.model));
  add_optimizer_options(group("Training"), find_model(defaults.model));
  add_run_options(group("Training"));
  add_source_options(group("Mini-batches"), traits);
  add_criterion_options(group("Training"));
  add_schedule_options(group("Optimization"));
  add_execution_options(group("Execution"), traits);
  add_file_options(group("Files"), traits);
  add_output_options(group("Output"));
  std::erase_if(table, [&](const TrainOption& row) { return !row.is_of(defaults.task); });
  return table;
}

bool is_command_option(std::string_view name) {
  return std::ranges::count(kCommandOptions, name, &CommandOption::name) > 0;
}

void apply_options(const std::vector<GivenOption>& given, TrainOptions& options) {
  const std::vector<TrainOption> table = option_table(options);
  const auto find = [&](std::string_view name) {  // the last counts
    const auto found =
        std::find_if(given.rbegin(), given.rend(), [&](const auto& g) { return g.name == name; });
    return found == given.rend() ? nullptr : &*found;
  };
  for (const GivenOption& option : given)
    check(std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.name == option.name; }),
          option.file, option.file.empty() ? "" : ": ", "unknown key '", printable(option.name),
          "'; see --help");
  for (const TrainOption& row : table) {
    const GivenOption* option = find(row.name);
    if (!option) continue;
    try {
      row.set(options, option->text);
    } catch (const Error& error) {
      check(option->file.empty(), option->file, ": ", printable(error.what()));
      throw;
    }
  }
  if (!find("lr-period") || options.schedule.period == 0) options.schedule.period = options.epochs;
  try {
    check_options(table, options, given);
  } catch (const Error& error) {
    const std::string_view message = error.what();  // begins with the option that is wrong
    for (const TrainOption& row : table)
      if (const GivenOption* option = find(row.name); option && message.starts_with(str("--", row.name, " ")))
        check(option->file.empty(), option->file, ": ", message);
    throw;
  }
}

std::string_view current_option_name(std::string_view name) {
  for (const RenamedOption& renamed : kRenamed)
    if (renamed.before == name) return renamed.now;
  return name;
}

std::string rename_warning(std::string_view old_name) {
  return str("--", old_name, " was renamed to --", current_option_name(old_name),
             "; the old name will be removed in the next release");
}

}  // namespace rodeo
