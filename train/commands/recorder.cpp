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

using Clock = std::chrono::steady_clock;
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

struct Recorder::State {
  TrainOptions options;
  bool writes = true, wants_best = false;
  std::unique_ptr<CheckpointFolder> checkpoints;
  std::unique_ptr<AtomicFile> weights, report, trace;  // opened early, written at the end
  std::unique_ptr<LineFile> log, csv;
  std::unique_ptr<EventFile> events;

  const NodeRun* run = nullptr;
  Trainer* trainer = nullptr;
  RunFacts facts;
  std::vector<std::string> names;    // of the trained parameters
  std::vector<EpochReport> history;  // for the report and checkpoints
  StateDict best;
  bool resumed_unchecked = false;  // from a checkpoint without checksums
  std::optional<ClassReport> classes;
  int saved_epoch = 0, saved_batch = 0, saved_best = 0;
  int batch = 0;                    // of this epoch, the last one seen
  bool is_due_after_epoch = false;  // a checkpoint within it would be of its last batch
  Clock::time_point saved_at{};

  bool reports() const { return !options.report.empty(); }
  bool keeps_best() const { return wants_best || checkpoints || weights || reports() || options.per_class; }

  WeightsInfo info(int epoch, std::optional<Evaluation> evaluation) const {
    const NodeTask& task = run->task;
    TrainOptions resolved = options;
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
            .split = options.task == TaskKind::kGraph
                         ? options.fold == kFoldOfFile
                               ? "fold:file"
                               : fmt::format("fold:{}/{}", std::max(options.fold, 0), options.folds)
                         : options.split,
            .seed = options.seed};
  }

  SafeTensors best_weights(const TrainerState& now) const {
    return now.best_epoch == 0 ? SafeTensors{} : pack_weights(best, info(now.best_epoch, now.best));
  }

  void save() {
    const RunState state{trainer->state(), history, run->task.num_nodes, run->task.num_edges,
                         to_json(settings_of(options))};
    const TrainerState& now = state.trainer;
    const std::string place = place_of(now.epoch, now.batch);
    const StateDict weights_now = run->model.module->state_dict();
    for (const auto& [name, tensor] : weights_now) {
      if (!is_float(tensor.dtype()) || count_not_finite(tensor).first < 0) continue;
      if (!options.stop_at_nan) return;
      throw NotFinite(
          str("[train] ", name, " is not finite ", place, ": ", options.checkpoint,
              saved_epoch > 0 || saved_batch > 0
                  ? str(" keeps the checkpoint ",
                        saved_batch > 0 ? place_of(saved_epoch, saved_batch) : str("of epoch ", saved_epoch))
                  : str(" has no checkpoint")));
    }
    std::optional<Evaluation> evaluation;
    if (now.batch == 0 && !history.empty()) evaluation = history.back().evaluation;
    checkpoints->save({.epoch = now.epoch,
                       .weights = pack_weights(weights_now, info(now.epoch, evaluation)),
                       .best = best_weights(now),
                       .state = pack_state(state, names)});
    saved_epoch = now.epoch;
    saved_batch = now.batch;
    saved_best = now.best_epoch;
    saved_at = Clock::now();
  }

  void resume(const Checkpoint& checkpoint) {
    const std::string where =
        fmt::format("{}: the checkpoint of epoch {}", options.checkpoint, checkpoint.epoch);
    const RunState state = read_state(checkpoint.state, names, where);
    check_same_training(state.settings, options, where);
    check(state.trainer.epoch == checkpoint.epoch, where, ": is of epoch ", state.trainer.epoch);
    const WeightsInfo info = read_info(checkpoint.weights, where);
    const NodeTask& task = run->task;
    check(info.dataset == task.name && state.num_nodes == task.num_nodes &&
              state.num_edges == task.num_edges && info.num_features == task.num_features &&
              info.num_classes == task.num_classes,
          where, ": was trained on ",
          describe(info.dataset, state.num_nodes, state.num_edges, info.num_features, info.num_classes),
          ", not on ",
          describe(task.name, task.num_nodes, task.num_edges, task.num_features, task.num_classes));
    try {
      if (state.trainer.best_epoch > 0) {
        run->model.module->load_state_dict(checkpoint.best.tensors);  // checks names and shapes
        best = checkpoint.best.tensors;
      }
      run->model.module->load_state_dict(checkpoint.weights.tensors);
      trainer->restore(state.trainer);
    } catch (const Error& error) {
      fail(where, ": ", error.what());
    }
    history = state.history;
    facts.resumed_from = saved_epoch = checkpoint.epoch;
    facts.resumed_batch = saved_batch = batch = state.trainer.batch;
    saved_best = state.trainer.best_epoch;
    resumed_unchecked = !checkpoint.checked;
  }
};

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
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.options = options;
  s.writes = writes;
  s.wants_best = keeps_best;
  if (!writes) return;
  check_files(options, {{"--dataset", options.dataset}});
  if (!options.checkpoint.empty()) {
    s.checkpoints = std::make_unique<CheckpointFolder>(options.checkpoint);
    check_checkpoint(options);
  }
  if (!options.export_file.empty()) s.weights = std::make_unique<AtomicFile>(options.export_file);
  if (!options.report.empty()) s.report = std::make_unique<AtomicFile>(options.report);
  if (!options.trace.empty()) s.trace = std::make_unique<AtomicFile>(options.trace);
  if (!options.log.empty()) s.log = std::make_unique<LineFile>(options.log, /*append=*/true);
  // Only checks that it can be written: start() truncates it, so that a run that never starts keeps the file.
  if (!options.csv.empty()) LineFile(options.csv, /*append=*/true);
  if (!options.tensorboard.empty()) s.events = std::make_unique<EventFile>(options.tensorboard);
}

Recorder::~Recorder() = default;

int Recorder::start(const NodeRun& run, Trainer& trainer, const std::string& device) {
  State& s = *state_;
  s.run = &run;
  s.trainer = &trainer;
  s.names = names_of(trainer.parameters(), *run.model.module);
  s.facts = {.device = device,
             .model = run.model.text,
             .algorithms = run.model.algorithms,
             .parameters = run.model.module->num_parameters(),
             .data_bytes = memory_stats(run.task.x.device()).current};
  if (s.options.resume)
    if (const auto checkpoint = CheckpointFolder::read(s.options.checkpoint)) s.resume(*checkpoint);
  if (!s.writes) return s.facts.resumed_from;
  s.saved_at = Clock::now();
  if (s.log) s.log->line(start_line(s.options, run.task, s.facts));
  if (!s.options.csv.empty()) {
    s.csv = std::make_unique<LineFile>(s.options.csv, /*append=*/false);
    s.csv->line(csv_header());
    for (const EpochReport& report : s.history) s.csv->line(csv_line(report));
  }
  if (s.events) {
    std::string table = "| option | value |\n| --- | --- |\n";
    for (const Setting& setting : settings_of(s.options))
      table += fmt::format("| {} | `{}` |\n", setting.name, setting.json);
    s.events->text("config", table);
  }
  return s.facts.resumed_from;
}

std::string Recorder::resumed() const {
  const RunFacts& facts = state_->facts;
  const bool resumed = facts.resumed_from > 0 || facts.resumed_batch > 0;
  const std::string unchecked = state_->resumed_unchecked ? ", without checksums (an earlier version)," : "";
  return resumed ? place_of(facts.resumed_from, facts.resumed_batch) + unchecked : std::string();
}

int Recorder::resumed_epoch() const {
  return state_->facts.resumed_from;
}

void Recorder::batch(int batch, int batches) {
  State& s = *state_;
  const int every = s.options.checkpoint_every_batches;
  const int before = std::exchange(s.batch, batch);
  // A step of several ranks may be of several batches.
  if (!s.checkpoints || every == 0 || batch / every == before / every) return;
  if (batch == batches)
    s.is_due_after_epoch = true;
  else
    s.save();
}

void Recorder::epoch(const EpochReport& report) {
  State& s = *state_;
  s.batch = 0;
  const bool is_due = std::exchange(s.is_due_after_epoch, false);
  const bool better = report.evaluation && report.best_epoch == report.epoch;
  if (better && s.keeps_best()) s.best = s.run->model.module->state_dict();
  if (s.checkpoints || s.reports()) s.history.push_back(report);
  if (!s.writes) return;
  if (s.log) s.log->line(epoch_line(report));
  if (s.csv) s.csv->line(csv_line(report));
  if (s.events) {
    EventFile::Scalars values = {
        {"loss/train", report.loss}, {"time/epoch_ms", report.ms}, {"lr", report.lr}};
    if (const auto& e = report.evaluation) {
      const std::string metric = metric_name(s.run->task);
      values.insert(values.end(), {{"loss/val", e->val_loss},
                                   {metric + "/train", e->train},
                                   {metric + "/val", e->val},
                                   {metric + "/test", e->test}});
    }
    s.events->scalars(report.epoch, values);
  }
  if (!s.checkpoints) return;
  // A new best epoch gets a checkpoint as soon as the last one is old enough.
  const bool unsaved_best =
      report.best_epoch > s.saved_best && Clock::now() - s.saved_at >= kBetweenBestCheckpoints;
  if (unsaved_best || is_due || report.epoch % s.options.checkpoint_every == 0) s.save();
}

void Recorder::finish(const TrainSummary& summary, KernelTimer* timer,
                      const std::vector<std::pair<std::string, double>>& details) {
  State& s = *state_;
  if (s.checkpoints && (s.saved_epoch != summary.epochs || s.saved_batch != summary.batch)) s.save();
  const bool nothing_evaluated = summary.batch > 0 && summary.best_epoch == 0;  // stopped in the first epoch
  if (s.weights && !nothing_evaluated) {
    check(!s.best.empty(), "[train] no epoch had a finite validation loss: ", s.options.export_file,
          " is not written");
    s.weights.reset();  // write_safetensors uses the same temporary name
    write_safetensors(s.options.export_file, pack_weights(s.best, s.info(summary.best_epoch, summary.best)));
  }
  const bool evaluated = summary.best_epoch > 0 || summary.evaluation_ms.count > 0;
  const bool reports = s.reports() && !s.history.empty();
  if (reports || (s.options.per_class && evaluated)) {
    // Over ranks, all of them run the model. Scores, matrix and embedding are of the epoch of the headline.
    Module& module = *s.run->model.module;
    const StateDict last = module.state_dict();
    if (!s.best.empty()) module.load_state_dict(s.best);
    if (reports) {
      const std::string page = make_report(s.options, *s.run, s.facts, s.history, summary,
                                           s.best.empty() ? summary.epochs : summary.best_epoch,
                                           timer ? memory_over_step(timer->spans()) : std::vector<double>());
      if (s.report) s.report->write(page), s.report->commit();
    }
    if (s.options.per_class && evaluated) {
      const NodeOutputs outputs = outputs_of(*s.run);
      s.classes = report_classes(outputs.logits, outputs.label, outputs.test, s.run->task.class_names);
    }
    module.load_state_dict(last);
  }
  if (s.trace) {
    s.trace->write(chrome_trace(timer ? timer->spans() : std::vector<KernelSpan>(), s.facts.device));
    s.trace->commit();
  }
  if (s.log)
    s.log->line(
        end_line(s.options, s.run->task, summary, s.classes ? classes_json(*s.classes) : "", details));
}

const StateDict& Recorder::best() const {
  return state_->best;
}

std::string Recorder::description(const TrainSummary& summary) const {
  return describe_weights(state_->info(summary.best_epoch, summary.best));
}

const std::optional<ClassReport>& Recorder::classes() const {
  return state_->classes;
}

void Recorder::failed(std::string_view message, int exit_code) noexcept try {
  if (state_->log) state_->log->line(error_line(message, exit_code));
} catch (const std::exception&) {  // the disk may be full
}

}  // namespace rodeo
