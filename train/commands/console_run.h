/// A run on the console: what it is trained on before, its epochs, and its results.
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
  ConsoleRun(RunBoard& board, std::size_t run, Device device, const RunHooks& hooks);

  void loaded(const NodeRun& run) override;
  void started(const Recorder& recorder) override;
  void batch(int epoch, int batch, int batches) override;
  void epoch(const EpochReport& report) override;
  bool stops() override;
  /// Prints the results of a single run.
  RunResult finish(const TrainedRun& trained, const Recorder& recorder);

 private:
  RunBoard& board_;
  std::size_t run_;
  const TrainOptions& options_;
  Device device_;
  const RunHooks& hooks_;
};

}  // namespace rodeo
