/// Writes the files of a training run: checkpoints, weights, logs, report and trace.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/output_path.h"
#include "train/io/run_log.h"
#include "train/report/class_report.h"
#include "train/task/node_model.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

class AtomicFile;
class CheckpointFolder;
class EventFile;
struct Checkpoint;
struct WeightsInfo;

/// Throws Error where an output file of a run has the name of another kind of file, or is an input or another
/// output (core/output_path.h).
void check_files(const TrainOptions& options, const std::vector<NamedPath>& inputs);

/// Throws Error for a folder that has a checkpoint although options.resume is false. Writes nothing.
void check_checkpoint(const TrainOptions& options);

class Recorder {
 public:
  /// Opens all output files, so that one that cannot be written fails before training. Throws Error for that,
  /// and for a folder that has a checkpoint although options.resume is false.
  /// A rank that does not write (of several) opens and writes no file. It reads the checkpoint to resume
  /// from.
  /// keeps_best: best() is wanted.
  explicit Recorder(const TrainOptions& options, bool writes = true, bool keeps_best = false);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Restores the checkpoint if there is one to resume, and writes the first lines of the logs. `run` and
  /// `trainer` must live until finish() returns. Returns the epoch of the checkpoint, or 0. Throws Error if
  /// the checkpoint is damaged, or is of another model, dataset or training.
  int start(const NodeRun& run, Trainer& trainer, const std::string& device);
  /// Where the run went on: "after epoch 3", "after batch 57 of epoch 4"; empty if it was not resumed.
  std::string resumed() const;
  /// The last epoch of the checkpoint; 0 without one.
  int resumed_epoch() const { return facts_.resumed_from; }
  /// Writes a checkpoint within an epoch where options.checkpoint_every_batches says so. To be called in
  /// TrainerOptions::on_batch. Throws NotFinite as epoch().
  void batch(int batch, int batches);
  /// Writes the log lines of an epoch, and a checkpoint if one is due. If the weights are not finite then,
  /// throws NotFinite; with --on-nan continue, keeps the previous checkpoint instead.
  void epoch(const EpochReport& report);
  /// Writes the last checkpoint, weights, report, trace and log lines. `timer` observed the profiled steps.
  /// `details`: more test results of the best epoch, by name, for the log.
  void finish(const TrainSummary& summary, KernelTimer* timer = nullptr,
              const std::vector<std::pair<std::string, double>>& details = {});
  /// Weights of the best epoch so far; empty if none was evaluated, or if nothing needs them.
  const StateDict& best() const { return best_; }
  /// What a file of these weights says of them: JSON, see WeightsInfo.
  std::string description(const TrainSummary& summary) const;
  /// After finish(), with options.per_class: scores of the test nodes in the best epoch, of the last one if
  /// there is none. Nothing where nothing was evaluated.
  const std::optional<ClassReport>& classes() const { return classes_; }
  /// Writes the log line of a run that ends with an error. Ignores a failure to write.
  void failed(std::string_view message, int exit_code) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  bool reports() const { return !options_.report.empty(); }
  bool keeps_best() const {
    return wants_best_ || checkpoints_ || weights_ || reports() || options_.per_class;
  }
  WeightsInfo info(int epoch, std::optional<Evaluation> evaluation) const;
  void save();
  void resume(const Checkpoint& checkpoint);

  TrainOptions options_;
  bool writes_ = true, wants_best_ = false;
  std::unique_ptr<CheckpointFolder> checkpoints_;
  std::unique_ptr<AtomicFile> weights_, report_, trace_;  // opened early, written at the end
  std::unique_ptr<LineFile> log_, csv_;
  std::unique_ptr<EventFile> events_;

  const NodeRun* run_ = nullptr;
  Trainer* trainer_ = nullptr;
  RunFacts facts_;
  std::vector<std::string> names_;    // of the trained parameters
  std::vector<EpochReport> history_;  // for the report and checkpoints
  StateDict best_;
  bool resumed_unchecked_ = false;  // from a checkpoint without checksums
  std::optional<ClassReport> classes_;
  int saved_epoch_ = 0, saved_batch_ = 0, saved_best_ = 0;
  int batch_ = 0;                    // of this epoch, the last one seen
  bool is_due_after_epoch_ = false;  // a checkpoint within it would be of its last batch
  Clock::time_point saved_at_{};
};

}  // namespace rodeo
