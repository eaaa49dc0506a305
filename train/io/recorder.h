/// Everything that a training command writes: checkpoints, weights, logs and the report.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "train/io/run_log.h"
#include "train/task/node_model.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

class Recorder {
 public:
  /// Opens what options name, so that what cannot be written is told before the work. Throws Error for that,
  /// and for a folder with a checkpoint that is not to be resumed.
  explicit Recorder(const TrainOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Takes up the checkpoint where there is one to resume, and begins the logs; both live until finish() is
  /// over. Returns the epoch of the checkpoint, or 0. Throws Error where the checkpoint is damaged, or of
  /// another model, dataset or training.
  int start(const NodeRun& run, Trainer& trainer, const std::string& device);
  /// Throws NotFinite where a checkpoint is due and the weights are not finite numbers; where training goes
  /// on nevertheless (--on-nan continue), the checkpoint before is kept.
  void epoch(const EpochReport& report);
  /// The last checkpoint, weights, report, trace and the logs' last lines. `timer` has seen profiled steps.
  void finish(const TrainSummary& summary, KernelTimer* timer = nullptr);
  /// The log's last line of a run that ends in an error. That it cannot be written is not told: the error is.
  void failed(std::string_view message, int exit_code) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rodeo
