/// Full-batch training of a node classifier, given by a module and its forward function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/kernel_timer.h"
#include "datasets/dataset.h"
#include "layers/module.h"
#include "train/batch_runner.h"
#include "train/mini_batches.h"
#include "train/nan_watch.h"
#include "train/optimizer.h"
#include "train/optimizer_registry.h"
#include "train/schedule.h"
#include "train/step_runner.h"
#include "train/timing.h"

namespace rodeo {

class NodePartition;
class RankSums;

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
  bool cuda_graph =
      true;  // on CUDA, replay a CUDA graph of the step after the warm-up; the bits are the same
  // true: in training mode `forward` returns logits [training nodes, classes], in the order of split.train.
  // In evaluation mode it returns those of all nodes.
  bool training_rows = false;
  // If set, an epoch is a step of the optimizer for each mini-batch (batch_runner.h), and its loss is the
  // mean over the training nodes. Evaluations call the forward function of the constructor, for all nodes.
  // Over its ranks, losses and gradients are weighted by the shares of a batch and summed, running statistics
  // too; label and split are those of all nodes, and every rank computes the same metrics.
  std::shared_ptr<const MiniBatchTraining> mini_batches = {};
  OptimizerOptions optimizer = {};
  LrScheduleOptions schedule = {};
  /// Over several ranks: `forward`, label and split are those of the rank's nodes. Losses, gradients and
  /// metrics are summed over ranks, and stop() ends all. Null: one rank.
  std::shared_ptr<const NodePartition> partition = {};
  double clip_norm = 0;          // clip the norm of all gradients together; 0: no clipping
  bool stop_at_nan = true;       // false: continue after a loss that is not finite
  KernelTimer* timer = nullptr;  // observes the kernels of the profiled steps
  NanWatch* watch = nullptr;     // observes all kernels; disables the CUDA graph
  /// Of mini-batches: called when a batch of an epoch has been started, from 1 on, of `batches`. May call
  /// state(), which waits for the batch. Over ranks that have a part each, it counts these.
  std::function<void(int epoch, int batch, int batches)> on_batch = {};
  /// Called in every epoch but the last, and behind every mini-batch but the last of an epoch. true: end
  /// training after this epoch, or after this mini-batch.
  std::function<bool()> stop = {};
};

/// Accuracies in [0, 1] in evaluation mode; with several labels per node, micro-averaged F1.
struct Evaluation {
  double train = 0, val = 0, test = 0;
  double val_loss = 0;
};

inline constexpr Evaluation kNotEvaluated{Statistics::kNone, Statistics::kNone, Statistics::kNone,
                                          Statistics::kNone};

/// Milliseconds of one profiled step by kind of kernel (KernelPart).
struct PartTimes {
  double sparse = 0, gemm = 0, other = 0;
  double communication = 0;  // collectives of several ranks
};

struct EpochReport {
  int epoch = 0;    // from 1
  int epochs = 0;   // at most
  double loss = 0;  // on the training nodes, in training mode, before this epoch's update
  double ms = 0;    // of the training step
  double lr = 0;    // of the first parameter
  std::optional<Evaluation> evaluation;
  double evaluation_ms = Statistics::kNone;
  std::optional<PartTimes> parts;      // of a profiled epoch
  std::optional<BatchTotals> batches;  // of mini-batches; the times are those of a profiled epoch
  int best_epoch = 0;                  // so far; 0: none yet
  Evaluation best;
};

/// Statistics of PartTimes over the profiled epochs.
struct StepParts {
  Statistics sparse, gemm, other;
  Statistics communication = {};
};

struct TrainSummary {
  int epochs = 0;        // the last epoch that ran
  int batch = 0;         // mini-batches of the next one, where stop ended it; 0: none
  bool stopped = false;  // ended early by TrainerOptions::stop
  int best_epoch = 0;    // best validation accuracy; ties: the lower validation loss, then the earlier epoch
  // At best_epoch, and after the last epoch that was evaluated; Statistics::kNone where none was.
  Evaluation best = kNotEvaluated, last = kNotEvaluated;
  std::vector<double> warmup_ms;       // one for each of the first epochs
  Statistics epoch_ms;                 // epochs that are neither warm-up nor profiled
  StepParts parts;                     // the profiled epochs
  std::optional<BatchTotals> batches;  // of mini-batches: the last profiled epoch, or else the last one
  Statistics wait_ms;                  // BatchTotals::wait_ms of the epochs of epoch_ms
  Statistics evaluation_ms;            // one evaluation; never part of an epoch's time
  int kernels = 0;                     // kernels of the captured training step; 0: none was captured
  std::int64_t peak_bytes = 0;         // of tensors on the device while training
};

/// The state of training, apart from the model's parameters and buffers (Module::state_dict). Random numbers
/// are a function of seed, step and position in the step. So the optimizer's step count is the state of the
/// random generator.
struct TrainerState {
  int epoch = 0;  // the last epoch that ran
  // Mini-batches of the next epoch that ran, and the sum of their training nodes x mean losses.
  int batch = 0;
  double batch_loss = 0;
  int best_epoch = 0;
  int lowest_loss_epoch = 0;  // of the lowest validation loss, the first of equal ones; 0: none yet
  double lowest_loss = 0;     // there
  Evaluation best, last;
  OptimizerState optimizer;
  std::vector<double> schedule;  // LrSchedule::state() of kPlateau; else empty
};

/// What a Trainer trains, where it is no classification of nodes. Without begin_epoch, both functions may run
/// inside a CUDA graph: they launch the same kernels every time, and wait for nothing.
struct TrainObjective {
  std::function<Variable()> loss;    // [], of one step, in training mode
  std::function<Tensor()> evaluate;  // f64 [3, 2] in evaluation mode: metric (more is better) and loss of the
                                     // training, validation and test data
  /// For mini-batches: prepares epoch 1, 2, ... and returns its number of steps, at least 1. Each calls
  /// loss() once; the loss of the epoch is their mean. Such epochs run without a CUDA graph.
  std::function<int(int epoch)> begin_epoch = {};
  /// Over several ranks: loss() is the rank's part of the loss, and the parts are summed. Without it, every
  /// rank computes the whole loss.
  bool loss_is_part = false;
  /// The ranks of mini-batches, where TrainerOptions::partition is null.
  Communicator ranks = {};
};

class Trainer {
 public:
  /// Trains `objective` by the same rules. options.training_rows is not used. With options.partition or
  /// objective.ranks, gradients of the parameters are summed over ranks. Every rank computes the same metrics
  /// of all data, and the same losses (from logits by all_gather_replicated) or with objective.loss_is_part
  /// its part of them. Throws Error as below.
  Trainer(Module& model, TrainObjective objective, std::vector<ParameterGroup> groups,
          const TrainerOptions& options = {});
  /// `forward` returns the logits of `model`: [nodes, classes], but see options.training_rows. `model` must
  /// outlive the trainer. label: i64 [nodes], or u8 [nodes, classes] with several labels per node. label and
  /// split may be on any device. Throws Error for options out of range, a model or groups without parameters,
  /// and a split without training or validation nodes.
  Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
          const Tensor& label, const Split& split, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains, and calls on_epoch after each epoch, before the next begins. An epoch's time covers forward,
  /// loss, backward and update, from an idle device to the end of that work. Afterwards the model is in
  /// training mode with the last parameters. Resets the device's peak memory.
  ///
  /// On CUDA with options.cuda_graph, warm-up epochs (at least the first), profiled epochs and the first
  /// evaluation run op by op. The others replay CUDA graphs. `forward` must then launch the same kernels
  /// every time, and must not wait for the device or read values on the host. Captures are not part of an
  /// epoch's time.
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
  void check_options() const;
  Tensor step();  // loss []
  /// Trains on the mini-batches of the next epoch; returns their mean loss.
  Tensor mini_batch_epoch();
  Tensor mini_batch_step(const SampledBatch& batch, double share, bool is_full);
  /// Backward and an update of the parameters; returns the loss.
  Tensor update(const Variable& loss);
  /// 0, 1, ... count - 1: i64, on the device.
  Tensor first_rows(std::int64_t count);
  Tensor objective_step();
  template <class F>
  Tensor watched(int epoch, F&& work);  // work(), observed by options_.watch
  Tensor evaluate();                    // f64 [3, 2]: accuracy and loss of train, val and test
  bool is_profiled(int epoch, int first, bool cuda_graph) const;
  bool stops();  // options_.stop() of any rank
  void capture_if_stale(StepRunner& runner, const StepRunner* beside = nullptr);
  void set_learning_rate(int epoch);
  void record(const Evaluation& evaluation, int epoch);
  bool is_out_of_patience() const;

  Module& model_;
  TrainObjective objective_;  // its functions are empty for classification
  std::function<Variable()> forward_;
  std::unique_ptr<Optimizer> optimizer_;
  LrSchedule schedule_;
  std::vector<double> rates_;  // the rates set in optimizer_
  Device device_;
  Tensor label_;
  Split split_;
  Tensor train_label_;              // options_.training_rows: labels of split_.train
  std::vector<Tensor> train_rows_;  // first_rows()
  TrainerOptions options_;
  StepRunner step_, evaluation_;
  std::unique_ptr<BatchRunner> batches_;                   // of options_.mini_batches
  bool captures_batches_ = false, times_batches_ = false;  // in this epoch
  std::optional<BatchTotals> batch_totals_;                // of this epoch
  Tensor batch_loss_;  // TrainerState::batch_loss; undefined before the first batch
  Tensor full_share_;  // [], the rank's share of a full batch: a CUDA graph reads it
  std::function<Tensor(const SampledBatch&)> batch_work_;  // of the batch that runs
  bool stopped_within_ = false;                            // after a batch of this epoch
  std::unique_ptr<RankSums> ranks_;                        // null on one rank
  Tensor seed_;                    // where backward begins: the gradient of the loss, 1
  TrainerState progress_, start_;  // without the state of optimizer_ and schedule_
};

}  // namespace rodeo
