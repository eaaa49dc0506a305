/// A run on the console: what it is trained on, its epochs and its results, or --dry-run.
#pragma once

#include "train/commands/console.h"
#include "train/commands/repeat.h"
#include "train/commands/train_run.h"

namespace rodeo {

/// The table of facts about data and model.
void describe(const Console& console, const NodeRun& run, const TrainOptions& options, Device device);

class ConsoleRun : public RunObserver {
 public:
  /// `run`: its number on the board, the first of which prints what all have in common.
  ConsoleRun(RunBoard& board, std::size_t run, Device device);

  void loaded(const NodeRun& run) override;
  void started(const Recorder& recorder) override;
  void batch(int epoch, int batch, int batches) override;
  void epoch(const EpochReport& report) override;
  bool stops() override { return board_.stops(); }
  /// Prints the results of a single run.
  RunResult finish(const TrainedRun& trained, const Recorder& recorder);

 private:
  RunBoard& board_;
  std::size_t run_;
  const TrainOptions& options_;
  Device device_;
};

/// --dry-run: prints the plan of a run, its data and model, and an estimate of its memory. Loads the data,
/// trains nothing and writes no file. Throws Error for what training would refuse, but for files that it
/// could not write.
void dry_run(const TrainOptions& options, Device device, const Communicator& ranks);

}  // namespace rodeo
