#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/async_host_copy.h"
#include "core/part_timer.h"
#include "core/random.h"
#include "core/stopwatch.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "train/objective.h"
#include "train/rank_sums.h"

namespace rodeo {
namespace {

Device device_of(const Module& model) {
  const std::vector<Variable> parameters = model.parameters();
  check(!parameters.empty(), "[train] the model has no parameters");
  return parameters.front().device();
}

bool better(const Evaluation& a, const Evaluation& b) {
  return a.val > b.val || (a.val == b.val && a.val_loss < b.val_loss);
}

/// RAII: evaluation mode, then training mode.
struct EvaluationMode {
  explicit EvaluationMode(Module& m) : model(m) { model.eval(); }
  ~EvaluationMode() { model.train(); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  Module& model;
};

Evaluation as_evaluation(const std::vector<double>& m) {
  return {.train = m[0], .val = m[2], .test = m[4], .val_loss = m[3]};
}

void check_loss(double loss, const char* nodes, int epoch) {
  if (!std::isfinite(loss))  // abs: some NaNs would be printed as "-nan"
    throw NotFinite(str("[train] the ", nodes, " loss is ", std::abs(loss), " in epoch ", epoch,
                        ": try a smaller learning rate"));
}

}  // namespace

Trainer::Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
                 const Tensor& label, const Split& split, const TrainerOptions& options)
    : model_(model),
      forward_(std::move(forward)),
      optimizer_(make_optimizer(options.optimizer, std::move(groups))),
      schedule_(options.schedule, optimizer_->first_rates()),
      rates_(optimizer_->first_rates()),
      device_(device_of(model)),
      label_(label.to(device_)),
      split_{split.train.to(device_), split.val.to(device_), split.test.to(device_)},
      options_(options),
      step_(
          device_, [this] { return options_.mini_batches ? mini_batch_epoch() : step(); },
          model.parameters()),
      evaluation_(
          device_, [this] { return evaluate(); }, model.parameters()) {
  check_options();
  check(split_.train.defined() && split_.val.defined(), "[train] the split has undefined nodes");
  check(split_.test.defined(), "[train] the split has undefined test nodes");
  if (options.partition)
    ranks_ = std::make_unique<RankSums>(options.partition, optimizer_->parameters(), label_, split_);
  check((ranks_ ? ranks_->num_train() : split_.train.numel()) > 0, "[train] the split has no training nodes");
  check((ranks_ ? ranks_->num_val() : split_.val.numel()) > 0, "[train] the split has no validation nodes");
  check(!options.training_rows || !options.mini_batches,
        "[train] training_rows is for steps over the whole graph, not for mini-batches");
  check(!options.partition || !options.mini_batches,
        "[train] a partition is for steps over the whole graph: mini-batches have ranks of their own");
  if (options.mini_batches && options.mini_batches->ranks.size() > 1)
    ranks_ = std::make_unique<RankSums>(options.mini_batches->ranks, optimizer_->parameters(), device_);
  if (options.training_rows) {
    train_label_ = take(label_, split_.train);
    first_rows(split_.train.numel());
  }
}

Trainer::Trainer(Module& model, TrainObjective objective, std::vector<ParameterGroup> groups,
                 const TrainerOptions& options)
    : model_(model),
      objective_(std::move(objective)),
      optimizer_(make_optimizer(options.optimizer, std::move(groups))),
      schedule_(options.schedule, optimizer_->first_rates()),
      rates_(optimizer_->first_rates()),
      device_(device_of(model)),
      options_(options),
      step_(
          device_, [this] { return step(); }, model.parameters()),
      evaluation_(
          device_, [this] { return evaluate(); }, model.parameters()) {
  check_options();
  if (options.partition)
    ranks_ = std::make_unique<RankSums>(options.partition, optimizer_->parameters(), device_);
  else if (objective_.ranks.size() > 1)
    ranks_ = std::make_unique<RankSums>(objective_.ranks, optimizer_->parameters(), device_);
  check(objective_.loss && objective_.evaluate, "[train] the objective has no loss or no evaluate function");
}

void Trainer::check_options() const {
  check(!optimizer_->empty(), "[train] there are no parameters to train");
  check(options_.epochs >= 1 && options_.eval_every >= 1,
        "[train] epochs and eval_every must be at least 1, got ", options_.epochs, " and ",
        options_.eval_every);
  check(options_.patience >= 0 && options_.warmup_epochs >= 0 && options_.profile_every >= 0,
        "[train] patience, warmup_epochs and profile_every must not be negative");
  check(options_.clip_norm >= 0, "[train] clip_norm must not be negative, got ", options_.clip_norm);
}

Tensor Trainer::objective_step() {
  const int steps = objective_.begin_epoch ? objective_.begin_epoch(progress_.epoch + 1) : 1;
  Tensor total;
  for (int i = 0; i < steps; ++i) {
    optimizer_->zero_grad();
    const RandomStep random_step(optimizer_->step_counter(), ranks_ ? ranks_->first_row() : 0);
    const ScopedPartition over(options_.partition.get());
    const Tensor loss = update(objective_.loss());
    total = i == 0 ? loss : linear_combination(1, total, 1, loss);
  }
  return steps > 1 ? linear_combination(1.0 / steps, total, 0, total) : total;
}

Trainer::~Trainer() = default;

Tensor Trainer::step() {
  if (objective_.loss) return objective_step();
  optimizer_->zero_grad();
  const RandomStep random_step(optimizer_->step_counter(), ranks_ ? ranks_->first_row() : 0);
  if (ranks_) {
    const ScopedPartition over(options_.partition.get());
    const Variable logits = forward_();
    const Tensor loss = options_.training_rows
                            ? ranks_->backward(logits, train_label_, first_rows(split_.train.numel()))
                            : ranks_->backward(logits);
    optimizer_->step(options_.clip_norm);
    return loss;
  }
  const Variable logits = forward_();
  const Variable loss = options_.training_rows
                            ? classification_loss(logits, train_label_, first_rows(split_.train.numel()))
                            : classification_loss(logits, label_, split_.train);
  return update(loss);
}

Tensor Trainer::update(const Variable& loss) {
  if (!seed_.defined()) seed_ = Tensor::full({}, 1, loss.dtype(), device_);
  loss.backward(seed_);
  const bool sums_losses = ranks_ && objective_.loss_is_part;
  const Tensor out = sums_losses ? loss.value().clone() : loss.value();
  if (ranks_) ranks_->sum_gradients(sums_losses ? out : Tensor());
  optimizer_->step(options_.clip_norm);
  return out;
}

Tensor Trainer::evaluate() {
  const NoGrad no_grad;
  const EvaluationMode mode(model_);
  const ScopedPartition over(options_.partition.get());
  if (objective_.evaluate) return objective_.evaluate();
  if (options_.partition) return ranks_->metrics(forward_().value());
  return classification_metrics(forward_().value(), label_, {split_.train, split_.val, split_.test});
}

template <class F>
Tensor Trainer::watched(int epoch, F&& work) {
  if (!options_.watch) return work();
  const ScopedKernelObserver observe(*options_.watch);
  try {
    return work();
  } catch (const NotFinite& error) {
    throw NotFinite(str(error.what(), ", in epoch ", epoch));
  }
}

bool Trainer::stops() {
  const bool own = options_.stop && options_.stop();
  return ranks_ && options_.stop ? ranks_->any(own) : own;
}

void Trainer::capture_if_stale(StepRunner& runner, const StepRunner* beside) {
  if (runner.is_current()) return;
  optimizer_->zero_grad();  // gradients that are freed during a capture stay allocated as long as the graph
  try {
    runner.capture(beside);
  } catch (const OutOfMemory&) {
    optimizer_->zero_grad();
    throw;
  } catch (const Error& error) {
    optimizer_->zero_grad();  // of the captured step, which never ran
    fail(error.what(), "; train without a CUDA graph (--no-cuda-graph)");
  }
}

TrainerState Trainer::state() const {
  TrainerState state = progress_;
  state.optimizer = optimizer_->state();
  if (options_.schedule.kind == LrScheduleOptions::Kind::kPlateau) state.schedule = schedule_.state();
  if (state.batch > 0 && batch_loss_.defined()) state.batch_loss = batch_loss_.to(DType::kF64).item();
  return state;
}

void Trainer::restore(const TrainerState& state) {
  check(state.epoch >= 0 && state.best_epoch >= 0 && state.best_epoch <= state.epoch, "[train] epoch ",
        state.epoch, " with the best epoch ", state.best_epoch, " is no state of a run");
  check(state.batch == 0 || options_.mini_batches, "[train] the state is of mini-batch ", state.batch,
        " of an epoch, and training without mini-batches cannot go on from there");
  optimizer_->restore(state.optimizer);
  if (!state.schedule.empty()) schedule_.restore(state.schedule);
  start_ = state;
  start_.optimizer = {};
  start_.schedule = {};
  progress_ = start_;
}

void Trainer::set_learning_rate(int epoch) {
  const std::vector<double> rates = schedule_.rates(epoch);
  if (rates == rates_) return;
  optimizer_->set_rates(rates);
  rates_ = rates;
}

void Trainer::record(const Evaluation& evaluation, int epoch) {
  schedule_.observe(evaluation.val_loss);
  TrainerState& now = progress_;
  now.last = evaluation;
  if (!std::isfinite(evaluation.val_loss)) return;
  if (now.lowest_loss_epoch == 0 || evaluation.val_loss < now.lowest_loss) {
    now.lowest_loss_epoch = epoch;
    now.lowest_loss = evaluation.val_loss;
  }
  if (now.best_epoch > 0 && !better(evaluation, now.best)) return;
  now.best_epoch = epoch;
  now.best = evaluation;
}

bool Trainer::is_out_of_patience() const {
  const int from = options_.stop_on_loss ? progress_.lowest_loss_epoch : progress_.best_epoch;
  return options_.patience > 0 && progress_.epoch - from >= options_.patience;
}

bool Trainer::is_profiled(int epoch, int first, bool cuda_graph) const {
  const int every = options_.profile_every, warm = first - 1 + options_.warmup_epochs;
  // Profiled epochs run op by op. They precede the capture, for the memory of both would add up.
  if (cuda_graph) return every > 0 && epoch - warm <= std::min(5, (options_.epochs - warm) / 2);
  // In the middle of each interval, so that a run of few epochs has a profiled one too.
  return every > 0 && epoch % every == every / 2;
}

TrainSummary Trainer::fit(const std::function<void(const EpochReport&)>& on_epoch) {
  TrainSummary summary;
  progress_ = std::exchange(start_, {});
  batch_loss_ = {};
  TrainerState& now = progress_;
  const int first = now.epoch + 1;
  const bool begins_within = now.batch > 0;
  std::vector<double> epoch_ms, wait_ms, evaluation_ms, sparse_ms, gemm_ms, other_ms, communication_ms;
  AsyncHostCopy loss, metrics;
  const bool cuda_graph = options_.cuda_graph && device_.is_cuda() && !options_.watch &&
                          !options_.mini_batches && !objective_.begin_epoch;
  reset_peak_memory(device_);
  model_.train();
  const bool ended =
      !begins_within && now.best_epoch > 0 && now.epoch % options_.eval_every == 0 && is_out_of_patience();
  for (int epoch = first; !ended && epoch <= options_.epochs; ++epoch) {
    EpochReport report;
    report.epoch = epoch;
    report.epochs = options_.epochs;
    const bool warmup = epoch - first < options_.warmup_epochs || (begins_within && epoch == first);
    const bool profiled = !warmup && is_profiled(epoch, first, cuda_graph);
    const bool replayed = cuda_graph && epoch > first && !warmup && !profiled;
    if (replayed) capture_if_stale(step_);
    set_learning_rate(epoch);
    report.lr = rates_.front();

    captures_batches_ = options_.cuda_graph && device_.is_cuda() && !options_.watch && !profiled;
    times_batches_ = profiled;
    PartTimer part_timer(device_);
    std::optional<ScopedKernelObserver> timed_parts, timed;
    if (profiled) timed_parts.emplace(part_timer);
    if (profiled && options_.timer && options_.timer->begin_step(epoch)) timed.emplace(*options_.timer);
    synchronize(device_);
    Stopwatch stopwatch(device_);
    const Tensor result = replayed ? step_.replay() : watched(epoch, [&] { return step_.run(); });
    stopwatch.stop();
    timed.reset();
    timed_parts.reset();
    if (stopped_within_) {
      summary.stopped = true;
      break;
    }
    loss.start(result);
    report.batches = batch_totals_;
    if (profiled || !summary.batches || summary.batches->train_ms == 0) summary.batches = batch_totals_;
    if (profiled) {
      report.ms = stopwatch.milliseconds();
      const double sparse = part_timer.milliseconds(KernelPart::kSparse);
      const double gemm = part_timer.milliseconds(KernelPart::kGemm);
      const double communication = part_timer.milliseconds(KernelPart::kCommunication);
      report.parts = {sparse, gemm, report.ms - sparse - gemm - communication, communication};
      sparse_ms.push_back(sparse);
      gemm_ms.push_back(gemm);
      other_ms.push_back(report.parts->other);
      communication_ms.push_back(communication);
    }

    const auto read_loss = [&] {
      report.loss = loss.values().item();
      if (options_.stop_at_nan) check_loss(report.loss, "training", epoch);
    };
    // After a replay the host launches the evaluation before it waits for the loss.
    if (!replayed) read_loss();
    summary.stopped = epoch < options_.epochs && stops();
    std::optional<Stopwatch> evaluation_stopwatch;
    if (epoch % options_.eval_every == 0 || epoch == options_.epochs || summary.stopped) {
      // The graph of the evaluation reuses the memory of the step's graph, so that one must exist.
      const bool replay_it = step_.is_current() && !evaluation_ms.empty();
      if (replay_it) capture_if_stale(evaluation_, &step_);
      evaluation_stopwatch.emplace(device_);
      const Tensor evaluated =
          replay_it ? evaluation_.replay() : watched(epoch, [&] { return evaluation_.run(); });
      evaluation_stopwatch->stop();
      metrics.start(evaluated);
    }
    if (replayed) read_loss();
    if (!profiled) {
      report.ms = stopwatch.milliseconds();
      (warmup ? summary.warmup_ms : epoch_ms).push_back(report.ms);
      if (batch_totals_ && !warmup) wait_ms.push_back(batch_totals_->wait_ms);
    }
    if (evaluation_stopwatch) {
      const std::vector<double> values = metrics.values().to_vector<double>();
      report.evaluation = as_evaluation(ranks_ ? ranks_->finish(values) : values);
      report.evaluation_ms = evaluation_stopwatch->milliseconds();
      evaluation_ms.push_back(report.evaluation_ms);
      if (options_.stop_at_nan) check_loss(report.evaluation->val_loss, "validation", epoch);
      record(*report.evaluation, epoch);
    }
    now.epoch = epoch;
    report.best_epoch = now.best_epoch;
    report.best = now.best;
    if (on_epoch) on_epoch(report);
    if (summary.stopped || (report.evaluation && is_out_of_patience())) break;
  }
  summary.epochs = now.epoch;
  summary.batch = now.batch;
  summary.best_epoch = now.best_epoch;
  const bool evaluated = now.best_epoch > 0 || !evaluation_ms.empty();
  if (now.best_epoch > 0) summary.best = now.best;
  if (evaluated) summary.last = now.last;
  summary.epoch_ms = summarize(std::move(epoch_ms));
  summary.wait_ms = summarize(std::move(wait_ms));
  summary.evaluation_ms = summarize(std::move(evaluation_ms));
  summary.parts = {summarize(std::move(sparse_ms)), summarize(std::move(gemm_ms)),
                   summarize(std::move(other_ms)), summarize(std::move(communication_ms))};
  summary.kernels = batches_ ? batches_->num_kernels() : step_.num_kernels();
  summary.peak_bytes = memory_stats(device_).peak;
  return summary;
}

}  // namespace rodeo
