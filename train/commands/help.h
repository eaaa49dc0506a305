/// Help texts of the training commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/task/train_option.h"

namespace rodeo {

/// Commands to copy, for the end of every help text.
std::string help_examples(const std::string& program, bool choose_model);

/// Usage, the options that most runs need, and examples. `table` has all options of the command.
std::string short_help(const std::string& program, bool choose_model, const std::vector<TrainOption>& table);

/// Where options are that --help does not list: one paragraph. options: of the model and task.
std::string more_help(const TrainOptions& options);

/// Throws Error for a value that has another name here, as --metric r2.
void check_other_value(const GivenOption& option);

/// What to say of `argument`, an option that the command does not know: whose it is, or which one is meant.
/// `known`: all options of the command, without dashes.
std::string unknown_option(std::string_view argument, std::string_view model,
                           const std::vector<std::string>& known);

}  // namespace rodeo
