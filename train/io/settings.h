/// A run's options as JSON: --config, --print-config, logs, checkpoints and files of weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/io/json_text.h"
#include "train/task/option_table.h"

namespace rodeo {

/// The options that have a value, in the order of --help: {"hidden": 16, ...}.   most: without those of later
/// roles
Json settings_of(const TrainOptions& options, OptionRole most = OptionRole::kRun);

/// The members of a JSON object. Throws Error beginning with `file` if it is not an object of texts, numbers,
/// true and false, and for options of the command line only, such as "help".
std::vector<GivenOption> read_settings(std::string_view json, const std::string& file);

/// The options of a model from the settings in a file of weights, which hold OptionRole::kModel only. Throws
/// Error beginning with `file`.
TrainOptions model_options(std::string_view json, const std::string& file);

/// Throws Error naming the first option of OptionRole::kModel and kTraining whose value differs from `then`,
/// the settings in the checkpoint `where`.
void check_same_training(std::string_view then, const TrainOptions& now, const std::string& where);

}  // namespace rodeo
