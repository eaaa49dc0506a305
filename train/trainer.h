/// Full-batch training of a node classifier. Knows nothing of the model but its forward function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/kernel_timer.h"
#include "datasets/dataset.h"
#include "layers/module.h"
#include "train/adam.h"
#include "train/nan_watch.h"
#include "train/schedule.h"
#include "train/step_runner.h"
#include "train/timing.h"

namespace rodeo {

struct TrainerOptions {
  int epochs = 200;
  int eval_every = 1;     // epochs between evaluations; the last epoch is always evaluated
  int patience = 0;       // stop after so many epochs without a better validation result; 0: never
  int warmup_epochs = 3;  // the first epochs build plans and fill memory pools: they are timed apart
  // One epoch of so many is profiled instead of timed; 0: none. With a captured graph, up to five before it.
  int profile_every = 10;
  bool graph = true;  // on CUDA, replay a captured graph after the warm-up; the bits are the same
  bool training_rows =
      false;  // in training mode `forward` returns the logits of split.train alone, in its order
  LrScheduleOptions schedule = {};
  double clip_norm = 0;             // of all gradients together; 0: as they are
  bool stop_at_nan = true;          // false: go on with a loss that is not finite
  KernelTimer* timer = nullptr;     // sees the kernels of the profiled steps
  NanWatch* watch = nullptr;        // sees all kernels; no graph then
  std::function<bool()> stop = {};  // asked once in every epoch but the last: true makes that the last
};

/// Accuracies (shares of 1) in evaluation mode; of several labels a node, micro-averaged F1.
struct Evaluation {
  double train = 0, val = 0, test = 0;
  double val_loss = 0;
};

/// Milliseconds of one profiled step.
struct PartTimes {
  double sparse = 0, gemm = 0, other = 0;
};

struct EpochReport {
  int epoch = 0;    // from 1
  int epochs = 0;   // at most
  double loss = 0;  // on the training nodes, in training mode, before this epoch's update
  double ms = 0;    // the training step alone
  double lr = 0;    // of the first parameter, in this epoch
  std::optional<Evaluation> evaluation;
  double evaluation_ms = Statistics::kNone;
  std::optional<PartTimes> parts;  // of a profiled epoch
  int best_epoch = 0;              // so far; 0: none was evaluated
  Evaluation best;
};

/// Where the milliseconds of a training step go.
struct StepParts {
  Statistics sparse, gemm, other;  // sparse: SpMM, SDDMM and attention
};

struct TrainSummary {
  int epochs = 0;        // that were run
  bool stopped = false;  // by TrainerOptions::stop, before the others
  int best_epoch = 0;  // best validation accuracy; of equal ones, the lower validation loss, then the earlier
  Evaluation best;     // at best_epoch
  Evaluation last;     // after the last epoch
  std::vector<double> warmup_ms;  // one for each of the first epochs
  Statistics epoch_ms;            // the epochs that are neither warm-up nor profiled
  StepParts parts;                // the profiled epochs
  Statistics evaluation_ms;       // one evaluation; never part of an epoch's time
  int kernels = 0;                // in the captured training step; 0: none was captured
  std::int64_t peak_bytes = 0;    // of tensors on the device while training
};

/// What the next epoch depends on, but for the model's parameters and buffers (Module::state_dict). Random
/// numbers are a function of seed, step and position: Adam's count of steps is their state.
struct TrainerState {
  int epoch = 0;  // the last one run
  int best_epoch = 0;
  Evaluation best, last;
  AdamState adam;
  std::vector<double> schedule;  // LrSchedule::state(), where the losses decide
};

class Trainer {
 public:
  /// `forward` returns the logits [nodes, classes] of `model`, which outlives the trainer;
  /// options.training_rows tells of others. label, i64 [nodes] or u8 [nodes, classes] of several labels a
  /// node, and split may be on any device. Throws Error for options out of range, a model or groups without
  /// parameters, and a split without training or validation nodes.
  Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
          const Tensor& label, const Split& split, const TrainerOptions& options = {});
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains; calls on_epoch after every epoch, when nothing of the next has begun. An epoch's time is that of
  /// forward, loss, backward and update, from an idle device to the end of the work on it. Leaves the model
  /// in training mode with the last parameters, and resets the device's peak memory. On CUDA, with
  /// options.graph, warm-up epochs (at least the first) and profiled ones run op by op, the others replay a
  /// CUDA graph, as do evaluations but the first. `forward` must not wait for the device or look at values
  /// then, and must ask for the same work every time. The capture itself is in no epoch's time. Throws
  /// NotFinite naming the epoch whose loss is not a finite number, and Error where the step cannot be
  /// captured; the model is as it was after the last epoch then.
  TrainSummary fit(const std::function<void(const EpochReport&)>& on_epoch = {});

  /// After the last epoch that fit() ran, also within on_epoch.
  TrainerState state() const;
  /// The next fit() begins with the epoch after state.epoch, and runs none where that was the last one or
  /// patience had ended: with the bits of a run that was not interrupted, if the model has the values of then
  /// too. Its warm-up are its own first epochs. Throws Error for a state of other parameters.
  void restore(const TrainerState& state);
  /// In the order of TrainerState::adam.
  std::vector<Variable> parameters() const { return adam_.parameters(); }

 private:
  Tensor step();  // loss []
  template <class F>
  Tensor watched(int epoch, F&& work);  // its result, seen by options_.watch
  Tensor evaluate();                    // [train val test, accuracy loss]
  bool is_profiled(int epoch, int first, bool graph) const;
  void prepare(StepRunner& replay, const StepRunner* beside = nullptr);  // for replay()

  Module& model_;
  std::function<Variable()> forward_;
  Adam adam_;
  LrSchedule schedule_;
  std::vector<double> rates_;  // that the device has
  Device device_;
  Tensor label_;
  Split split_;
  Tensor train_label_, train_row_;  // of split_.train, and its positions, where logits are of it alone
  TrainerOptions options_;
  StepRunner step_, evaluation_;
  Tensor seed_;                    // of backward: 1
  TrainerState progress_, start_;  // but for Adam's
};

}  // namespace rodeo
