/// A run on the console: what it is trained on before, its epochs, and its results.
#pragma once

#include <optional>

#include "train/commands/console.h"
#include "train/commands/interrupt.h"
#include "train/commands/parallel_runs.h"
#include "train/commands/repeat.h"
#include "train/commands/train_run.h"

namespace rodeo {

/// What a signal waits for: "batch" or "epoch".
const char* stop_unit(const TrainOptions& options);

/// The table of facts about data and model.
void describe(const Console& console, const NodeRun& run, const TrainOptions& options, Device device);

class ConsoleRun : public RunObserver {
 public:
  /// Prints the first line. `shared`: the signals of all runs of a command; null: of this run alone.
  ConsoleRun(const TrainOptions& options, Device device, const StopOnSignal* shared, const RunHooks& hooks);

  void loaded(const NodeRun& run) override;
  void started(const Recorder& recorder) override;
  void batch(int epoch, int batch, int batches) override;
  void epoch(const EpochReport& report) override;
  bool stops() override;
  /// Prints the results. Throws Interrupted after those of a run that a signal ended.
  RunResult finish(const TrainedRun& trained, const Recorder& recorder);

 private:
  const TrainOptions& options_;
  Device device_;
  Console console_;
  const StopOnSignal* shared_;
  std::optional<StopOnSignal> own_;
  const RunHooks& hooks_;
};

}  // namespace rodeo
