/// The table of training options. --help, the command line, settings files, --print-config, checkpoints and
/// logs all read it: an option's name, range, default and help text are written once.
#pragma once

#include <vector>

#include "train/task/train_option.h"

namespace rodeo {

/// The options that the model `defaults.model` has, in the order of --help, with the values of `defaults` as
/// default texts.
std::vector<TrainOption> option_table(const TrainOptions& defaults);

}  // namespace rodeo
