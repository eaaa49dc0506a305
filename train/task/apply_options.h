/// Sets TrainOptions from named texts, as a command line or a settings file has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/task/train_option.h"

namespace rodeo {

/// Sets the given options; of several values for one option the last counts. Checks each value, and the
/// combination of all. Throws Error, beginning with the file's name for a value from a file.
void apply_options(const std::vector<GivenOption>& given, TrainOptions& options);

/// The current name of an option that was renamed, else `name` itself. Old names are accepted for one
/// release.
std::string_view current_option_name(std::string_view name);
/// "--no-graph was renamed to --no-cuda-graph; the old name will be removed in the next release"
std::string rename_warning(std::string_view old_name);

}  // namespace rodeo
