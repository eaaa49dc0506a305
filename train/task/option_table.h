/// The table of training options. --help, the command line, settings files, --print-config, checkpoints and
/// logs all read it: an option's name, range, default, help text and flags are written once, in the file of
/// its part (train/task/option_parts.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/task/train_option.h"

namespace rodeo {

/// The options that the model `defaults.model` has for `defaults.task`, in the order of --help, with the
/// values of `defaults` as default texts.
std::vector<TrainOption> option_table(const TrainOptions& defaults);

/// An option that is no setting: it acts at once, or names a file of settings. Of the command line only.
struct CommandOption {
  std::string_view group, name, help, hint;  // as of TrainOption
};
inline constexpr CommandOption kCommandOptions[] = {
    {"Files", "config", "Options in a JSON file; the command line overrides them", "FILE"},
    {"Files", "print-config", "Print all options in the form of --config, and exit", ""},
    {"Output", "dry-run", "Load the data, print the model and the memory it needs, and exit", ""},
    {"Output", "list-devices", "Print the devices, and exit", ""},
    {"Output", "completion", "Print a completion script for this command, and exit", "bash|zsh"},
    {"Output", "h", "Print the most used options", ""},
    {"Output", "help", "Print the options; --help kernels: those of kernels", ""},
    {"Output", "version", "Print the version", ""}};
bool is_command_option(std::string_view name);

/// Sets options from named texts, as a command line or a settings file has them; of several values for one
/// option the last counts. Checks each value, and the combination of all. Throws Error, beginning with the
/// file's name for a value from a file.
void apply_options(const std::vector<GivenOption>& given, TrainOptions& options);

/// The current name of an option that was renamed, else `name` itself. Old names are accepted for one
/// release.
std::string_view current_option_name(std::string_view name);
/// "--no-graph was renamed to --no-cuda-graph; the old name will be removed in the next release"
std::string rename_warning(std::string_view old_name);

}  // namespace rodeo
