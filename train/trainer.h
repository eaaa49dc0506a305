/// Training of a model: forward, loss, backward, exchange, update, in epochs of one step or many.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/kernel_timer.h"
#include "layers/module.h"
#include "train/criterion.h"
#include "train/epoch_report.h"
#include "train/exchange.h"
#include "train/nan_watch.h"
#include "train/optimizer.h"
#include "train/optimizer_registry.h"
#include "train/progress.h"
#include "train/schedule.h"
#include "train/step_runner.h"
#include "train/step_source.h"

namespace rodeo {

struct TrainerOptions {
  int epochs = 200;
  int eval_every = 1;  // epochs between evaluations; the last epoch is always evaluated
  int patience = 0;    // stop after this many epochs without a better validation result; 0: never
  // What patience counts from. false: the best epoch (TrainSummary::best_epoch). true: the epoch of the
  // lowest validation loss, the rule of Kipf & Welling (ICLR 2017).
  bool stop_on_loss = false;
  int warmup_epochs = 3;  // the first epochs, which build plans and fill memory pools: timed separately
  // 0: no epoch is profiled. Without a CUDA graph, one epoch in this many is profiled and not part of the
  // epoch times. With one, up to five epochs after the warm-up are profiled, and then the step is captured.
  int profile_every = 10;
  // On CUDA, replay a CUDA graph of the fixed steps (StepInput::is_fixed, Module::has_fixed_steps) after the
  // warm-up; the bits are the same.
  bool cuda_graph = true;
  OptimizerOptions optimizer = {};
  LrScheduleOptions schedule = {};
  double clip_norm = 0;          // clip the norm of all gradients together; 0: no clipping
  bool stop_at_nan = true;       // false: continue after a loss that is not finite
  KernelTimer* timer = nullptr;  // observes the kernels of the profiled steps
  NanWatch* watch = nullptr;     // observes all kernels; disables the CUDA graph
  /// Mini-batches: called when a batch of an epoch has been started, from 1 on, of `batches`. May call
  /// state(), which waits for the batch. Over ranks that have a part each, it counts these.
  std::function<void(int epoch, int batch, int batches)> on_batch = {};
  /// Called in every epoch but the last, and behind every mini-batch but the last of an epoch. true: end
  /// training after this epoch, or after this mini-batch.
  std::function<bool()> stop = {};
};

/// What a Trainer composes. The parts know nothing of each other.
struct TrainerParts {
  /// The model's predictions of a step. In evaluation mode, with an empty input, those of all examples: over
  /// a partition, of the rank's if the metrics are means, else of all ranks. It launches the same kernels for
  /// all fixed inputs, and waits for nothing.
  std::function<Variable(const StepInput&)> forward;
  std::shared_ptr<const Criterion> criterion;
  std::shared_ptr<StepSource> source = {};  // null: WholeGraph
  Exchange exchange = {};
  /// The criterion of evaluations, where training steps predict other examples than evaluations do; null:
  /// `criterion`. Over a partition its examples are the rank's if Criterion::metrics_are_means(), else those
  /// of all ranks.
  std::shared_ptr<const Criterion> metrics = {};
};

class Trainer {
 public:
  /// `model` must outlive the trainer. Throws Error for options out of range, parts that are missing, a model
  /// or groups without parameters, and a training or validation set without examples.
  Trainer(Module& model, TrainerParts parts, std::vector<ParameterGroup> groups,
          const TrainerOptions& options = {});
  /// Classification of nodes, full batch.   forward: logits [nodes, classes] of `model`; label: i64 [nodes],
  /// or u8 [nodes, classes] with several labels per node. label and split may be on any device.
  Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
          const Tensor& label, const Split& split, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains, and calls on_epoch after each epoch, before the next begins. An epoch's time covers forward,
  /// loss, backward and update, from an idle device to the end of that work. Afterwards the model is in
  /// training mode with the last parameters. Resets the device's peak memory.
  ///
  /// On CUDA with options.cuda_graph, where an epoch is one fixed step: warm-up epochs (at least the first),
  /// profiled epochs and the first evaluation run op by op. The others replay CUDA graphs. Captures are not
  /// part of an epoch's time. Of mini-batches, fixed steps but the first are replayed.
  ///
  /// Throws NotFinite naming the epoch whose loss is not finite, and Error if a step cannot be captured. The
  /// model is then as after the last complete epoch.
  TrainSummary fit(const std::function<void(const EpochReport&)>& on_epoch = {});

  /// The state after the last epoch that fit() ran, and after mini-batches of the next one; may be called in
  /// on_epoch and on_batch.
  TrainerState state() const;
  /// The next fit() begins with the epoch after state.epoch. It runs no epoch if that was the last one, or if
  /// patience had run out. With the model's parameters and buffers of that epoch, the results have the bits
  /// of an uninterrupted run. After state.batch mini-batches of an epoch it goes on with the next one; the
  /// sizes and times of that epoch are those of the batches that are left. The first epochs after restore()
  /// are warm-up epochs again. Throws Error for a state of other parameters.
  void restore(const TrainerState& state);
  /// The trained parameters, in the order of TrainerState::optimizer.
  std::vector<Variable> parameters() const { return optimizer_->parameters(); }

 private:
  void check_parts();
  /// Forward, loss, backward, exchange, update. Returns the loss of all ranks, [].
  Tensor step(const StepInput& in);
  /// step(), from a CUDA graph where the input is fixed.
  Tensor run_step(const StepInput& in);
  /// The steps of the next epoch that are left. Returns their mean loss, [].
  Tensor run_epoch(bool is_profiled);
  /// Adds the loss of a mini-batch to those of the epoch. Returns whether to go on.
  bool end_batch(const StepInput& in, const Tensor& loss);
  /// The weight of the rank's mean loss in that of all ranks; as a tensor [], on the device.
  double fraction(const StepInput& in) const;
  Tensor fraction_tensor(const StepInput& in, DType dtype);
  bool is_fixed(const StepInput& in) const;
  Variable loss_of(const Variable& predictions, const StepInput& in) const;
  std::vector<Tensor> gradients_and(const Tensor& loss) const;
  std::vector<Tensor> buffers() const;
  Tensor evaluate();                                 // f64 [3, 2]: metric and loss of train, val and test
  std::optional<BatchTotals> totals_of_all() const;  // of this epoch; a collective call
  Evaluation read_evaluation(const Tensor& metrics) const;
  template <class F>
  Tensor watched(int epoch, F&& work);  // work(), observed by options_.watch
  bool is_profiled(int epoch, int first) const;
  bool stops();  // options_.stop() of any rank
  void capture_if_stale(StepRunner& runner, const StepRunner* memory_of = nullptr);
  void set_learning_rate(int epoch);

  Module& model_;
  TrainerParts parts_;
  TrainerOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  LrSchedule schedule_;
  std::vector<double> rates_;  // the rates set in optimizer_
  Device device_;
  StepRunner step_, evaluation_;  // step() of the fixed input; evaluate()
  bool captures_whole_ = false;   // an epoch is one fixed step, which is captured
  bool captures_ = false;         // fixed steps of this epoch may be replayed
  bool has_run_fixed_ = false;
  bool stopped_within_ = false;                 // after a batch of this epoch
  std::optional<MetricsOverRanks> over_ranks_;  // of a partition, where metrics are means
  double own_terms_ = 0, all_terms_ = 0;        // of the training set: of this rank, of all
  double epoch_terms_ = 0;                      // of the examples of an epoch of mini-batches
  Tensor fixed_fraction_;                       // a CUDA graph reads it
  Tensor batch_loss_;                           // TrainerState::batch_loss; undefined before the first batch
  TrainerState progress_, start_;               // without the state of optimizer_ and schedule_
};

}  // namespace rodeo
