/// A run's options as a table of names and values, and that table as JSON: --config, --print-config, logs,
/// and what weights and checkpoints say of themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/task/options.h"

namespace rodeo {

struct Setting {
  enum class Role {
    kModel,     // needed to use the weights: model and input
    kTraining,  // decides, with the model, what is computed
    kRun,       // how and where it is computed, how long, and what is written
  };
  std::string name;  // of the option, without dashes
  std::string json;  // its value: "16", "\"rode\"", "true"
  Role role;
};

/// All that describe the run, in the order of --help. What is empty, as the split of a file with masks, is
/// left out.
std::vector<Setting> settings_of(const TrainOptions& options);

/// {"hidden": 16, ...}, on one line or on a line each.
std::string to_json(const std::vector<Setting>& settings, bool lines = false);

/// The settings of a JSON object as a command line: "--hidden=16". Throws Error beginning with `where` unless
/// it is an object of texts, numbers, true and false, and for what makes no sense there, as "help".
std::vector<std::string> arguments_of(std::string_view json, const std::string& where);

/// The options of a model from its settings, as a file of weights has them, in which nothing else may be.
/// Throws Error beginning with `where`.
TrainOptions model_options(std::string_view json, const std::string& where);

/// Throws Error naming the first option of roles kModel and kTraining that differs; `then` is of the
/// checkpoint in `where`.
void check_same_training(std::string_view then, const TrainOptions& now, const std::string& where);

}  // namespace rodeo
