#include "train/task/option_table.h"

#include <algorithm>

#include "train/task/option_parts.h"

namespace rodeo {

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

const std::vector<CommandOption>& command_options() {
  static const std::vector<CommandOption> all = {
      {"Files", "config", "Options in a JSON file; the command line overrides them", "FILE"},
      {"Files", "print-config", "Print all options in the form of --config, and exit", ""},
      {"Output", "dry-run", "Load the data, print the model and the memory it needs, and exit", ""},
      {"Output", "list-devices", "Print the devices, and exit", ""},
      {"Output", "completion", "Print a completion script for this command, and exit", "bash|zsh"},
      {"Output", "h", "Print the most used options", ""},
      {"Output", "help", "Print the options; --help kernels: those of kernels", ""},
      {"Output", "version", "Print the version", ""}};
  return all;
}

bool is_command_option(std::string_view name) {
  return std::any_of(command_options().begin(), command_options().end(),
                     [&](const CommandOption& option) { return option.name == name; });
}

}  // namespace rodeo
