/// main() of the training commands.
#pragma once

#include "train/task/options.h"

namespace rodeo {

/// Parses the command line, trains, and prints progress and results (train/commands/console.h). Returns the
/// exit code (train/commands/run_command.h).
int train_command(int argc, const char* const* argv, const TrainOptions& defaults);

}  // namespace rodeo
