/// main() of the training commands.
#pragma once

#include <string>
#include <vector>

#include "train/task/options.h"

namespace rodeo {

/// Parses the command line, trains, and prints progress and results (train/commands/console.h). Returns the
/// exit code (train/commands/run_command.h).
///   starter  the first words of the command that starts a rank (--gpus, --ranks); empty: this executable
int train_command(int argc, const char* const* argv, const TrainOptions& defaults,
                  const std::vector<std::string>& starter = {});

}  // namespace rodeo
