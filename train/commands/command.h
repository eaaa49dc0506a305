/// The training commands, whose main() is one line.
#pragma once

#include "train/task/options.h"

namespace rodeo {

/// Reads the command line on top of the defaults, trains defaults.model and prints what
/// train/commands/console.h describes. Returns the exit code: see run_command.
int train_command(int argc, const char* const* argv, const TrainOptions& defaults);

}  // namespace rodeo
