/// The results of a sweep, in a file that grows with each run and is read by the next call of the command.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "train/io/sweep_file.h"
#include "train/trainer.h"

namespace rodeo {

/// Identifies a run: the values of its trial, and what --seeds, --splits and folds add.
struct SweepRun {
  Trial trial;
  std::uint64_t seed = 0;
  std::string split;  // empty: no column of the masks
  int fold = -1;      // -1: no fold
};

/// What a run left: a result, or why there is none.
struct SweepOutcome {
  Evaluation best;  // at best_epoch
  int best_epoch = 0, epochs = 0;
  double seconds = 0;
  std::string failure;  // empty: none
  int exit_code = 0;    // ExitCode of the failure (train/commands/run_command.h)
};

/// JSON lines. The first has the options that all trials share, each of the others is a run. Only one object
/// of all processes may have the file open. A line that a crash has cut off is removed. A run is added by one
/// write, and is on the disk when add() returns. Errors begin with the path.
class SweepResults {
 public:
  using Shared = std::map<std::string, std::string>;  // texts of options by name

  /// Opens the file, or begins it. Throws Error if another process has it open, if a line is no result, and
  /// for one that begins with other options than `shared`, naming the first that differs.
  SweepResults(const std::string& path, const Shared& shared);
  ~SweepResults();
  SweepResults(const SweepResults&) = delete;
  SweepResults& operator=(const SweepResults&) = delete;

  /// Null if the run has no outcome yet. Of several the last counts.
  const SweepOutcome* find(const SweepRun& run) const;
  /// Not for several threads at a time.
  void add(const SweepRun& run, const SweepOutcome& outcome);
  /// Number of runs with an outcome.
  std::size_t size() const { return outcomes_.size(); }

 private:
  void open();
  void read(const std::string& text, const Shared& shared);
  void write(const std::string& line) const;

  std::string path_;
  int file_ = -1;
  std::map<std::string, SweepOutcome> outcomes_;  // by the run as JSON
};

}  // namespace rodeo
