/// The trials that --sweep asks for, before any runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/io/sweep_file.h"
#include "train/task/options.h"

namespace rodeo {

/// The options of a trial; `given` gets those of which they were made (parse_trial()). Throws Error for an
/// option that is wrong, or for several that exclude each other.
using ParseTrial = std::function<TrainOptions(const std::vector<GivenOption>& shared, const Trial& trial,
                                              std::vector<GivenOption>& given)>;

struct SweepPlan {
  Sweep sweep;
  std::vector<TrainOptions> options;  // of each trial
  std::vector<std::string> failures;  // of each trial: what is wrong with its options; empty: nothing
  std::size_t first = 0;              // the first trial whose options are right
  std::vector<GivenOption> given;     // what all trials share, without doubles
  std::string results, plot;          // paths; plot may be empty

  /// Device, dataset, metric and others are the same for all trials.
  const TrainOptions& common() const { return options[first]; }
};

/// Reads command.sweep. Throws Error for a file that is none, for an option that the command line and the
/// trials set, and if no trial has options that are right: what is wrong with the first.
SweepPlan plan_sweep(const TrainOptions& command, const ParseTrial& parse);

/// The trials, a line for each, and what is wrong with their options. For --dry-run.
std::string describe_sweep(const SweepPlan& plan);

/// A command for a shell that trains as the trial did, with the same bits: `threads` each run had on the CPU.
/// The file of --config stays one; all other options are written out.
std::string command_of_trial(const SweepPlan& plan, std::size_t trial, const std::string& program,
                             int threads);

}  // namespace rodeo
