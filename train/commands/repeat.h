/// Several runs in one command, for --seeds, --splits and folds, one after another or some at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

/// One of several runs: options without --seeds and the like, and what tells it from the others.
struct PlannedRun {
  TrainOptions options;
  std::string name;  // "split 0   seed 3    "
};

/// The values of --split: those of --splits all, else options.split alone. Throws Error for both options, and
/// for a dataset whose masks have no columns to go through.
std::vector<std::string> splits_to_run(const TrainOptions& options);
/// A run for each split, each seed (options.seed, and the numbers after it) and each fold, in this order.
std::vector<PlannedRun> runs_of(const TrainOptions& options, const std::vector<std::string>& splits);
/// Throws Error for what train_repeated() refuses before the first run.
void check_repeated(const TrainOptions& options);
/// Throws Error for options that write files of one run, saying what makes them several: "--seeds and
/// --splits".
void check_files_of_runs(const TrainOptions& options, const std::string& several);
/// Threads of each of `count` runs, of which options.parallel train at a time: on the CPU their share of
/// num_threads().
int threads_of_a_run(const TrainOptions& options, std::size_t count);

/// Calls train() for runs_of(options), and prints a line for each run in this order, then mean and standard
/// deviation (of a sample, n - 1) of the results; with --splits all and several seeds, those of each split
/// too. options.parallel threads run that many at a time;
/// options.device is cuda: on one GPU, each with its own stream. Then the first run has two epochs to itself,
/// in which SpMM kernels are chosen. A run has the same bits alone: on the CPU, with as many threads. Throws
/// Error as the functions above do. What train() throws ends the other runs, and is thrown.
void train_repeated(const TrainOptions& options, const TrainOne& train);

}  // namespace rodeo
