/// Trains one run, from its data to its files: the path of the training commands and of the Python package.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/commands/recorder.h"
#include "train/task/node_model.h"

namespace rodeo {

/// What a caller sees and says while a run is trained. An exception of a member ends the run without its last
/// files, and is thrown by train_run().
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Data and model are there, untrained.
  virtual void loaded(const NodeRun&) {}
  /// The trainer is there, perhaps resumed.
  virtual void started(const Recorder&) {}
  /// A mini-batch has been started (TrainerOptions::on_batch).
  virtual void batch(int /*epoch*/, int /*batch*/, int /*batches*/) {}
  /// An epoch has ended, and the recorder has it.
  virtual void epoch(const EpochReport&) {}
  /// Whether to end after this epoch or mini-batch (TrainerOptions::stop).
  virtual bool stops() { return false; }
};

/// What a run leaves. The model has the weights of the last epoch; Recorder::best() those of the best.
struct TrainedRun {
  NodeRun run;
  TrainSummary summary;
  std::vector<std::pair<std::string, double>> details;  // Criterion::details of the best epoch
  std::unique_ptr<KernelTimer> timer;                   // with --profile, --trace and --report; else null
};

/// RAII: the settings of the process and of this thread that a run needs; the destructor restores those of
/// before.
class RunSettings {
 public:
  explicit RunSettings(const TrainOptions& options);
  ~RunSettings();
  RunSettings(const RunSettings&) = delete;
  RunSettings& operator=(const RunSettings&) = delete;

 private:
  bool tf32_;
  int threads_;
};

/// Throws Error where an option needs another device.
void check_device(const TrainOptions& options, Device device);

/// Loads and trains. Files are read by one thread at a time. Throws Error as make_run(), Recorder and
/// Trainer::fit() do; OutOfMemory also where the host has no memory for other things than tensors.
TrainedRun train_run(DataSource source, const TrainOptions& options, Device device, const Communicator& ranks,
                     Recorder& recorder, RunObserver& observer);

}  // namespace rodeo
