/// Several runs in one command, for --seeds, --splits and folds, one after another or some at a time.
#pragma once

#include <functional>
#include <string>

#include "train/commands/parallel_runs.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// What a run leaves.
struct RunResult {
  TrainSummary summary;
  std::string line;  // what is printed of it
};

using TrainOne = std::function<RunResult(const TrainOptions&, const RunHooks&)>;

/// Whether `options` ask for several runs.
bool is_repeated(const TrainOptions& options);

/// Calls train() for each split, each seed (options.seed, and the numbers after it) and each fold, and prints
/// a line for each run in this order, then mean and standard deviation (of a sample, n - 1) of the test
/// results. options.parallel threads run that many at a time; options.device is cuda: on one GPU, each with
/// its own stream. Then the first run has two epochs to itself, in which SpMM kernels are chosen. On the CPU
/// each has its share of num_threads(). A run has the same bits alone: on the CPU, with as many threads.
/// Throws Error for options that write files of one run, and for a dataset whose masks have no columns to go
/// through. What train() throws ends the other runs, and is thrown.
void train_repeated(const TrainOptions& options, const TrainOne& train);

}  // namespace rodeo
