/// Several runs in one command, for --seeds and --splits.
#pragma once

#include <functional>

#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// Whether `options` ask for several runs.
bool is_repeated(const TrainOptions& options);

/// Calls train() for each split and each seed: options.seed, and the numbers after it. Prints a line for each
/// run, and mean and standard deviation (of a sample, n - 1) of its test results. Throws Error for options
/// that write files of one run, and for a dataset whose masks have no columns to go through.
void train_repeated(const TrainOptions& options,
                    const std::function<TrainSummary(const TrainOptions&)>& train);

}  // namespace rodeo
