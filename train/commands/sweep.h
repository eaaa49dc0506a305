/// --sweep: trains with many values of options and names the best.
#pragma once

#include <string>

#include "train/commands/repeat.h"
#include "train/commands/sweep_plan.h"

namespace rodeo {

/// Calls train() for each run (runs_of()) of each trial that has no outcome in plan.results, and adds its
/// outcome there as it ends. common().parallel of them run at a time, as in train_repeated(). Then prints the
/// best trials by the mean of their validation results, and the command line of the best one, which begins
/// with `program`; writes plan.plot. An Error of train() is the outcome of the run, and others go on. The
/// next call tries such a run again, but for a result that is not finite. Interrupted ends the sweep and is
/// thrown. Throws Error if no trial has a result.
void train_sweep(const SweepPlan& plan, const std::string& program, const TrainOne& train);

}  // namespace rodeo
