#include "train/trainer.h"

#include <utility>

#include "core/random.h"
#include "core/random_streams.h"
#include "ops/combine.h"
#include "ops/pointwise.h"
#include "train/classification.h"
#include "train/read_timer.h"

namespace rodeo {
namespace {

Device device_of(const Module& model) {
  const std::vector<Variable> parameters = model.parameters();
  check(!parameters.empty(), "[train] the model has no parameters");
  return parameters.front().device();
}

/// RAII: evaluation mode, then training mode.
struct EvaluationMode {
  explicit EvaluationMode(Module& m) : model(m) { model.eval(); }
  ~EvaluationMode() { model.train(); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;
  Module& model;
};

TrainerParts classification(const Module& model, std::function<Variable()> forward, const Tensor& label,
                            const Split& split) {
  const Device device = device_of(model);
  return {.forward = [forward = std::move(forward)](const StepInput&) { return forward(); },
          .criterion = std::make_shared<Classification>(label.to(device), split.to(device),
                                                        label.rank() == 2 ? label.dim(1) : 0)};
}

}  // namespace

Trainer::Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
                 const Tensor& label, const Split& split, const TrainerOptions& options)
    : Trainer(model, classification(model, std::move(forward), label, split), std::move(groups), options) {}

Trainer::Trainer(Module& model, TrainerParts parts, std::vector<ParameterGroup> groups,
                 const TrainerOptions& options)
    : model_(model),
      parts_(std::move(parts)),
      options_(options),
      optimizer_(make_optimizer(options.optimizer, std::move(groups))),
      schedule_(options.schedule, optimizer_->first_rates()),
      rates_(optimizer_->first_rates()),
      device_(device_of(model)),
      step_(
          device_, [this] { return step(*parts_.source->fixed()); }, model.parameters()),
      evaluation_(
          device_, [this] { return evaluate(); }, model.parameters()) {
  check_parts();
  options_.cuda_graph &= model.has_fixed_steps();
  captures_whole_ =
      options_.cuda_graph && device_.is_cuda() && !options_.watch && !parts_.source->has_batches();
}

Trainer::~Trainer() = default;

void Trainer::check_parts() {
  check(!optimizer_->empty(), "[train] there are no parameters to train");
  check(options_.epochs >= 1 && options_.eval_every >= 1,
        "[train] epochs and eval_every must be at least 1, got ", options_.epochs, " and ",
        options_.eval_every);
  check(options_.patience >= 0 && options_.warmup_epochs >= 0 && options_.profile_every >= 0,
        "[train] patience, warmup_epochs and profile_every must not be negative");
  check(options_.clip_norm >= 0, "[train] clip_norm must not be negative, got ", options_.clip_norm);
  check(parts_.forward && parts_.criterion, "[train] the parts have no forward function or no criterion");
  if (!parts_.metrics) parts_.metrics = parts_.criterion;
  if (!parts_.source) parts_.source = std::make_shared<WholeGraph>();
  const Split& sets = parts_.metrics->sets();
  if (parts_.exchange.partition() && parts_.metrics->metrics_are_means())
    over_ranks_.emplace(parts_.exchange, sets, device_);
  check((over_ranks_ ? over_ranks_->sizes()[0] : sets.train.numel()) > 0,
        "[train] the split has no training nodes");
  check((over_ranks_ ? over_ranks_->sizes()[1] : sets.val.numel()) > 0,
        "[train] the split has no validation nodes");
  own_terms_ = parts_.criterion->training_terms();
  if (!parts_.source->has_batches()) all_terms_ = parts_.exchange.sum(own_terms_, device_);
}

bool Trainer::is_fixed(const StepInput& in) const {
  return in.is_fixed && (in.of_all.empty() || parts_.criterion->is_fixed());
}

double Trainer::fraction(const StepInput& in) const {
  if (parts_.exchange.is_one_rank()) return 1;
  if (!in.counts) return 0;
  const bool whole = in.of_all.empty();
  const double own = whole ? own_terms_ : parts_.criterion->terms(in.examples.host),
               all = whole ? all_terms_ : parts_.criterion->terms(in.of_all);
  return all > 0 ? own / all : 0;
}

Tensor Trainer::fraction_tensor(const StepInput& in, DType dtype) {
  if (!is_fixed(in) && !parts_.exchange.is_one_rank()) return Tensor::full({}, fraction(in), dtype, device_);
  if (!fixed_fraction_.defined()) fixed_fraction_ = Tensor::full({}, fraction(in), dtype, device_);
  return fixed_fraction_;
}

Variable Trainer::loss_of(const Variable& predictions, const StepInput& in) const {
  const bool has_examples = in.of_all.empty() ? own_terms_ > 0 : !in.examples.host.empty();
  return has_examples ? parts_.criterion->loss(predictions, in.examples) : no_loss(predictions);
}

Tensor Trainer::step(const StepInput& in) {
  const Exchange& exchange = parts_.exchange;
  const bool independent = parts_.source->ranks_are_independent();
  optimizer_->zero_grad();
  const RandomStep random_step(optimizer_->step_counter(), exchange.first_row());
  const ScopedStreams streams(independent ? exchange.first_stream() : 0);
  const ScopedPartition over(exchange.partition());

  const Variable loss = loss_of(parts_.forward(in), in);  // nobody keeps the predictions
  const Tensor weight = fraction_tensor(in, loss.dtype());
  loss.backward(weight);

  const Tensor all = exchange.is_one_rank() ? loss.value() : mul(loss.value(), weight);
  exchange.sum(gradients_and(all));
  exchange.sum(optimizer_->reads());
  optimizer_->step(options_.clip_norm);
  if (independent) exchange.average(buffers(), fraction(in));
  optimizer_->zero_grad();  // the next step reuses the memory
  return all;
}

std::vector<Tensor> Trainer::gradients_and(const Tensor& loss) const {
  std::vector<Tensor> out{loss};
  for (const Variable& parameter : optimizer_->parameters())
    if (parameter.grad().defined()) out.push_back(parameter.grad());
  return out;
}

std::vector<Tensor> Trainer::buffers() const {
  std::vector<Tensor> out;
  for (const auto& [name, buffer] : model_.named_buffers()) out.push_back(buffer);
  return out;
}

Tensor Trainer::run_step(const StepInput& in) {
  if (!is_fixed(in)) return step(in);
  if (captures_ && has_run_fixed_) {
    capture_if_stale(step_);
    return step_.replay();
  }
  has_run_fixed_ = true;
  return step_.run();
}

Tensor Trainer::run_epoch(bool is_profiled) {
  StepSource& source = *parts_.source;
  struct End {
    ~End() { source.end_epoch(); }
    StepSource& source;
  };
  source.begin_epoch({.epoch = progress_.epoch + 1, .done = progress_.batch, .times_parts = is_profiled});
  const End end{source};
  stopped_within_ = false;
  BatchTotals* const totals = is_profiled ? source.totals() : nullptr;
  while (const StepInput* in = source.next()) {
    const auto work = [&] { return run_step(*in); };
    const Tensor loss = totals ? timed_parts(*totals, source.features(), device_, work) : work();
    if (!source.has_batches()) return loss;
    if (!end_batch(*in, loss)) {
      stopped_within_ = true;
      return loss;
    }
  }
  progress_.batch = 0;
  progress_.batch_loss = 0;
  const Tensor sum = std::exchange(batch_loss_, {});
  return linear_combination(1 / epoch_terms_, sum, 0, sum);
}

bool Trainer::end_batch(const StepInput& in, const Tensor& loss) {
  StepSource& source = *parts_.source;
  if (epoch_terms_ == 0) epoch_terms_ = parts_.criterion->terms(source.examples());
  if (!batch_loss_.defined() && progress_.batch > 0)
    batch_loss_ = Tensor::full({}, progress_.batch_loss, loss.dtype(), loss.device());
  const double terms = parts_.criterion->terms(in.of_all);
  batch_loss_ = batch_loss_.defined() ? linear_combination(1, batch_loss_, terms, loss)
                                      : linear_combination(terms, loss, 0, loss);
  progress_.batch = static_cast<int>(source.num_done());
  if (options_.on_batch)
    options_.on_batch(progress_.epoch + 1, progress_.batch, static_cast<int>(source.num_batches()));
  return source.num_done() == source.num_batches() || !stops();
}

Tensor Trainer::evaluate() {
  const NoGrad no_grad;
  const EvaluationMode mode(model_);
  const ScopedPartition over(parts_.exchange.partition());
  const Tensor predictions = parts_.forward(StepInput()).value();
  if (over_ranks_) return over_ranks_->sums(parts_.exchange, parts_.metrics->metrics(predictions));
  return parts_.metrics->metrics(predictions);
}

Evaluation Trainer::read_evaluation(const Tensor& metrics) const {
  std::vector<double> m = metrics.to_vector<double>();
  if (over_ranks_) m = over_ranks_->means(std::move(m));
  return {.train = m[0], .val = m[2], .test = m[4], .val_loss = m[3]};
}

bool Trainer::stops() {
  if (!options_.stop) return false;
  return parts_.exchange.any(options_.stop(), device_);
}

void Trainer::capture_if_stale(StepRunner& runner, const StepRunner* memory_of) {
  if (runner.is_current()) return;
  optimizer_->zero_grad();  // gradients that are freed during a capture stay allocated as long as the graph
  try {
    runner.capture(memory_of);
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
  check(state.batch == 0 || parts_.source->has_batches(), "[train] the state is of mini-batch ", state.batch,
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

}  // namespace rodeo
