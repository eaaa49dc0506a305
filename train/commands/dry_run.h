/// --dry-run.
#pragma once

#include "core/communicator.h"
#include "train/task/options.h"

namespace rodeo {

/// Prints the plan of a run, its data and model, and an estimate of its memory. Loads the data, trains
/// nothing and writes no file. Throws Error for what training would refuse, but for files that it could not
/// write.
void dry_run(const TrainOptions& options, Device device, const Communicator& ranks);

}  // namespace rodeo
