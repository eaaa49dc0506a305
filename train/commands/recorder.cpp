#include "train/commands/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/storage.h"
#include "train/checkpoint.h"
#include "train/io/atomic_file.h"
#include "train/io/event_file.h"
#include "train/io/run_state.h"
#include "train/io/settings.h"
#include "train/report/op_report.h"
#include "train/report/report.h"

namespace rodeo {
namespace {

// Early in a run nearly every epoch is better than the ones before: limits their checkpoints.
constexpr auto kBetweenBestCheckpoints = std::chrono::seconds(1);

std::string describe(const std::string& name, std::int64_t nodes, std::int64_t edges, std::int64_t features,
                     std::int64_t classes) {
  return fmt::format("{} ({} nodes, {} edges, {} features, {} classes)", name, nodes, edges, features,
                     classes);
}

/// "after epoch 3", "after batch 57 of epoch 4"
std::string place_of(int epoch, int batch) {
  return batch > 0 ? fmt::format("after batch {} of epoch {}", batch, epoch + 1)
                   : fmt::format("after epoch {}", epoch);
}

}  // namespace

void check_checkpoint(const TrainOptions& options) {
  if (options.checkpoint.empty() || options.resume) return;
  const auto latest = CheckpointFolder::latest_in(options.checkpoint);
  check(!latest, options.checkpoint, ": has a checkpoint of epoch ", latest.value_or(0),
        ": --resume goes on from it; for a new run name another folder");
}

void check_files(const TrainOptions& options, const std::vector<NamedPath>& inputs) {
  const std::vector<NamedPath> outputs = {{"--export", options.export_file},
                                          {"--log", options.log},
                                          {"--csv", options.csv},
                                          {"--report", options.report},
                                          {"--trace", options.trace}};
  check_outputs(outputs, inputs);
  // A name without a suffix says nothing else.
  check_suffix(outputs[0], {"", ".safetensors"});
  check_suffix(outputs[1], {"", ".jsonl", ".json", ".log", ".txt"});
  check_suffix(outputs[2], {"", ".csv"});
  check_suffix(outputs[3], {"", ".html", ".htm"});
  check_suffix(outputs[4], {"", ".json"});
}

Recorder::Recorder(const TrainOptions& options, bool writes, bool keeps_best)
    : options_(options), writes_(writes), wants_best_(keeps_best) {
  if (!writes) return;
  check_files(options, {{"--dataset", options.dataset}});
  if (!options.checkpoint.empty()) {
    checkpoints_ = std::make_unique<CheckpointFolder>(options.checkpoint);
    check_checkpoint(options);
  }
  if (!options.export_file.empty()) weights_ = std::make_unique<AtomicFile>(options.export_file);
  if (!options.report.empty()) report_ = std::make_unique<AtomicFile>(options.report);
  if (!options.trace.empty()) trace_ = std::make_unique<AtomicFile>(options.trace);
  if (!options.log.empty()) log_ = std::make_unique<LineFile>(options.log);
  // start() clears it, so that a run that never starts keeps the file.
  if (!options.csv.empty()) csv_ = std::make_unique<LineFile>(options.csv);
  if (!options.tensorboard.empty()) events_ = std::make_unique<EventFile>(options.tensorboard);
}

Recorder::~Recorder() = default;

WeightsInfo Recorder::info(int epoch, std::optional<Evaluation> evaluation) const {
  const NodeTask& task = run_->task;
  TrainOptions resolved = options_;
  resolved.normalize_features = task.feature_scale.scaling;
  return {.options = resolved,
          .dataset = task.name,
          .num_features = task.num_features,
          .num_classes = task.num_classes,
          .multi_label = task.label.dtype() == DType::kU8,
          .regression = task.regression(),
          .epoch = epoch,
          .evaluation = evaluation,
          .class_names = task.class_names,
          .features = task.feature_scale.columns,
          .targets = task.target_scale,
          .types = task.types,
          .split = options_.task == TaskKind::kGraph
                       ? options_.fold == kFoldOfFile
                             ? "fold:file"
                             : fmt::format("fold:{}/{}", std::max(options_.fold, 0), options_.folds)
                       : options_.split,
          .seed = options_.seed};
}

void Recorder::save() {
  const RunState state{trainer_->state(), history_, run_->task.num_nodes, run_->task.num_edges,
                       json_text(settings_of(options_))};
  const TrainerState& now = state.trainer;
  const std::string place = place_of(now.epoch, now.batch);
  const StateDict weights_now = run_->model.module->state_dict();
  for (const auto& [name, tensor] : weights_now) {
    if (!is_float(tensor.dtype()) || count_not_finite(tensor).first < 0) continue;
    if (!options_.stop_at_nan) return;
    throw NotFinite(
        str("[train] ", name, " is not finite ", place, ": ", options_.checkpoint,
            saved_epoch_ > 0 || saved_batch_ > 0
                ? str(" keeps the checkpoint ", saved_batch_ > 0 ? place_of(saved_epoch_, saved_batch_)
                                                                 : str("of epoch ", saved_epoch_))
                : str(" has no checkpoint")));
  }
  std::optional<Evaluation> evaluation;
  if (now.batch == 0 && !history_.empty()) evaluation = history_.back().evaluation;
  checkpoints_->save(
      {.epoch = now.epoch,
       .weights = pack_weights(weights_now, info(now.epoch, evaluation)),
       .best = now.best_epoch == 0 ? SafeTensors{} : pack_weights(best_, info(now.best_epoch, now.best)),
       .state = pack_state(state, names_)});
  saved_epoch_ = now.epoch;
  saved_batch_ = now.batch;
  saved_best_ = now.best_epoch;
  saved_at_ = Clock::now();
}

void Recorder::resume(const Checkpoint& checkpoint) {
  const std::string where =
      fmt::format("{}: the checkpoint of epoch {}", options_.checkpoint, checkpoint.epoch);
  const RunState state = read_state(checkpoint.state, names_, where);
  check_same_training(state.settings, options_, where);
  check(state.trainer.epoch == checkpoint.epoch, where, ": is of epoch ", state.trainer.epoch);
  const WeightsInfo info = read_info(checkpoint.weights, where);
  const NodeTask& task = run_->task;
  check(info.dataset == task.name && state.num_nodes == task.num_nodes && state.num_edges == task.num_edges &&
            info.num_features == task.num_features && info.num_classes == task.num_classes,
        where, ": was trained on ",
        describe(info.dataset, state.num_nodes, state.num_edges, info.num_features, info.num_classes),
        ", not on ",
        describe(task.name, task.num_nodes, task.num_edges, task.num_features, task.num_classes));
  try {
    if (state.trainer.best_epoch > 0) {
      run_->model.module->load_state_dict(checkpoint.best.tensors);  // checks names and shapes
      best_ = checkpoint.best.tensors;
    }
    run_->model.module->load_state_dict(checkpoint.weights.tensors);
    trainer_->restore(state.trainer);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
  history_ = state.history;
  facts_.resumed_from = saved_epoch_ = checkpoint.epoch;
  facts_.resumed_batch = saved_batch_ = batch_ = state.trainer.batch;
  saved_best_ = state.trainer.best_epoch;
  resumed_unchecked_ = !checkpoint.checked;
}

int Recorder::start(const NodeRun& run, Trainer& trainer, const std::string& device) {
  run_ = &run;
  trainer_ = &trainer;
  names_ = names_of(trainer.parameters(), *run.model.module);
  facts_ = {.device = device,
            .model = run.model.text,
            .algorithms = run.model.algorithms,
            .parameters = run.model.module->num_parameters(),
            .data_bytes = memory_stats(run.task.x.device()).current};
  if (options_.resume)
    if (const auto checkpoint = CheckpointFolder::read(options_.checkpoint)) resume(*checkpoint);
  if (!writes_) return facts_.resumed_from;
  saved_at_ = Clock::now();
  if (log_) log_->line(start_line(options_, run.task, facts_));
  if (csv_) {
    csv_->clear();
    csv_->line(csv_header());
    for (const EpochReport& report : history_) csv_->line(csv_line(report));
  }
  if (events_) {
    std::string table = "| option | value |\n| --- | --- |\n";
    const Json settings = settings_of(options_);
    for (const auto& [name, value] : settings.items())
      table += fmt::format("| {} | `{}` |\n", name, json_text(value));
    events_->text("config", table);
  }
  return facts_.resumed_from;
}

std::string Recorder::resumed() const {
  const bool resumed = facts_.resumed_from > 0 || facts_.resumed_batch > 0;
  const std::string unchecked = resumed_unchecked_ ? ", without checksums (an earlier version)," : "";
  return resumed ? place_of(facts_.resumed_from, facts_.resumed_batch) + unchecked : std::string();
}

void Recorder::batch(int batch, int batches) {
  const int every = options_.checkpoint_every_batches;
  const int before = std::exchange(batch_, batch);
  // A step of several ranks may be of several batches.
  if (!checkpoints_ || every == 0 || batch / every == before / every) return;
  if (batch == batches)
    is_due_after_epoch_ = true;
  else
    save();
}

void Recorder::epoch(const EpochReport& report) {
  batch_ = 0;
  const bool is_due = std::exchange(is_due_after_epoch_, false);
  const bool better = report.evaluation && report.best_epoch == report.epoch;
  if (better && keeps_best()) best_ = run_->model.module->state_dict();
  if (checkpoints_ || reports()) history_.push_back(report);
  if (!writes_) return;
  if (log_) log_->line(epoch_line(report));
  if (csv_) csv_->line(csv_line(report));
  if (events_) {
    EventFile::Scalars values = {
        {"loss/train", report.loss}, {"time/epoch_ms", report.ms}, {"lr", report.lr}};
    if (const auto& e = report.evaluation) {
      const std::string& metric = run_->task.metric;
      values.insert(values.end(), {{"loss/val", e->val_loss},
                                   {metric + "/train", e->train},
                                   {metric + "/val", e->val},
                                   {metric + "/test", e->test}});
    }
    events_->scalars(report.epoch, values);
  }
  if (!checkpoints_) return;
  // A new best epoch gets a checkpoint as soon as the last one is old enough.
  const bool unsaved_best =
      report.best_epoch > saved_best_ && Clock::now() - saved_at_ >= kBetweenBestCheckpoints;
  if (unsaved_best || is_due || report.epoch % options_.checkpoint_every == 0) save();
}

void Recorder::finish(const TrainSummary& summary, KernelTimer* timer,
                      const std::vector<std::pair<std::string, double>>& details) {
  if (checkpoints_ && (saved_epoch_ != summary.epochs || saved_batch_ != summary.batch)) save();
  const bool nothing_evaluated = summary.batch > 0 && summary.best_epoch == 0;  // stopped in the first epoch
  if (weights_ && !nothing_evaluated) {
    check(!best_.empty(), "[train] no epoch had a finite validation loss: ", options_.export_file,
          " is not written");
    if (!weights_->is_direct()) weights_.reset();  // write_safetensors uses the same temporary name
    write_safetensors(options_.export_file, pack_weights(best_, info(summary.best_epoch, summary.best)));
  }
  const bool evaluated = summary.best_epoch > 0 || summary.evaluation_ms.count > 0;
  const bool has_report = reports() && !history_.empty();
  if (has_report || (options_.per_class && evaluated)) {
    // Over ranks, all of them run the model. Scores, matrix and embedding are of the epoch of the headline.
    Module& module = *run_->model.module;
    const StateDict last = module.state_dict();
    if (!best_.empty()) module.load_state_dict(best_);
    if (has_report) {
      const std::string page = make_report(options_, *run_, facts_, history_, summary,
                                           best_.empty() ? summary.epochs : summary.best_epoch,
                                           timer ? memory_over_step(timer->spans()) : std::vector<double>());
      if (report_) report_->write(page), report_->commit();
    }
    if (options_.per_class && evaluated) {
      const NodeOutputs outputs = outputs_of(*run_);
      classes_ = report_classes(outputs.logits, outputs.label, outputs.test, run_->task.class_names);
    }
    module.load_state_dict(last);
  }
  if (trace_) {
    trace_->write(chrome_trace(timer ? timer->spans() : std::vector<KernelSpan>(), facts_.device));
    trace_->commit();
  }
  if (log_)
    log_->line(end_line(options_, run_->task, summary, classes_ ? classes_json(*classes_) : "", details));
}

std::string Recorder::description(const TrainSummary& summary) const {
  return describe_weights(info(summary.best_epoch, summary.best));
}

void Recorder::failed(std::string_view message, int exit_code) noexcept try {
  if (log_) log_->line(error_line(message, exit_code));
} catch (const std::exception&) {  // the disk may be full
}

}  // namespace rodeo
