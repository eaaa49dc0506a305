#include "train/commands/console_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "train/commands/device_text.h"
#include "train/commands/run_command.h"
#include "train/report/op_report.h"
#include "train/task/advice.h"
#include "train/task/memory_estimate.h"

namespace rodeo {
namespace {

std::string describe_ranks(const NodePartition& nodes) {
  const auto [least, most] = std::minmax_element(nodes.rows().begin(), nodes.rows().end());
  return fmt::format("{} over {}, {} to {} nodes each", nodes.ranks().size(), nodes.ranks().backend(), *least,
                     *most);
}

std::string_view outputs_name(const NodeTask& task) {
  if (!task.regression()) return "classes";
  return task.num_classes == 1 ? "target" : "targets";
}

}  // namespace

const char* stop_unit(const TrainOptions& options) {
  return options.batch > 0 ? "batch" : "epoch";
}

void describe(const Console& console, const NodeRun& run, const TrainOptions& options, Device device) {
  const auto& [task, model] = run;
  const bool nodes = options.task == TaskKind::kNode;
  console.say("dataset",
              fmt::format("{}: {} nodes, {} {}edges, {} features{}", task.name, task.num_nodes,
                          task.num_edges, nodes ? "" : "message ", task.num_features,
                          nodes ? fmt::format(", {} {}", task.num_classes, outputs_name(task)) : ""));
  console.say("split", fmt::format("{} train, {} val, {} test{}{}", task.split_sizes[0], task.split_sizes[1],
                                   task.split_sizes[2], nodes ? "" : " ", task.parts_of));
  if (task.partition) console.say("ranks", describe_ranks(*task.partition));
  if (task.ranks.size() > 1)
    console.say("ranks", fmt::format("{} over {}, {}; {} and features on each", task.ranks.size(),
                                     task.ranks.backend(),
                                     options.batch_by_parts ? "a part each" : "a share of each batch",
                                     options.task == TaskKind::kGraph ? "graphs" : "graph"));
  const auto& batches = run.model.mini_batches;
  console.say("features",
              task.features + (batches && !batches->features.empty() ? ", " + batches->features : ""));
  if (!task.places.empty()) console.say("placement", task.places);
  if (!task.reorder.empty())
    console.say("reorder", fmt::format("{}, in {:.1f} ms", task.reorder, task.reorder_ms));
  console.say("memory", str(format_bytes(memory_stats(device).current), " on ", device));
  console.say("algorithms", model.algorithms);
  for (const std::string& warning : data_warnings(task, options)) console.say("warning", warning);
  if (options.aggregation != Aggregation::kAuto && !task.partition)
    console.say("warning",
                str("--aggregation ", options.aggregation,
                    task.ranks.size() > 1
                        ? " is for one whole graph, and ranks of mini-batches exchange gradients alone"
                        : " says what several ranks exchange, and this is one",
                    ": it has no effect"));
  console.say("model", fmt::format("{}: {} parameters", model.text, model.module->num_parameters()));
  if (const std::string metric = metric_name(task); metric != "accuracy")
    console.say("metric", metric + ", of train, val and test");
  console.blank_line();
}

ConsoleRun::ConsoleRun(const TrainOptions& options, Device device, const StopOnSignal* shared,
                       const RunHooks& hooks)
    : options_(options), device_(device), console_(options.quiet), shared_(shared), hooks_(hooks) {
  console_.say("device", describe_device(options.device, device));
}

void ConsoleRun::loaded(const NodeRun& run) {
  describe(console_, run, options_, device_);
  // The estimate is for steps over the whole graph.
  const std::string warning = run.model.mini_batches ? "" : memory_warning(run, options_);
  if (!warning.empty()) console_.say("warning", warning);
  if (options_.debug) console_.say("debug", "the result of every kernel is checked; no CUDA graph");
  if (!shared_) shared_ = &own_.emplace(stop_unit(options_));
}

void ConsoleRun::started(const Recorder& recorder) {
  if (!recorder.resumed().empty())
    console_.say("resumed", fmt::format("{} from {}", recorder.resumed(), options_.checkpoint));
  else if (options_.resume)
    console_.say("resumed", fmt::format("from the beginning: {} has no checkpoint", options_.checkpoint));
  if (options_.resume) console_.blank_line();
}

void ConsoleRun::batch(int epoch, int batch, int batches) {
  console_.batch(epoch, options_.epochs, batch, batches);
}

void ConsoleRun::epoch(const EpochReport& report) {
  if (hooks_.epoch) hooks_.epoch(report.epoch);
  console_.epoch(report);
}

bool ConsoleRun::stops() {
  return shared_->signal() != 0 || (hooks_.stop && hooks_.stop());
}

RunResult ConsoleRun::finish(const TrainedRun& trained, const Recorder& recorder) {
  const auto& [task, model] = trained.run;
  const TrainSummary& summary = trained.summary;
  if (!options_.silent) console_.finish(task, summary, trained.details);
  if (options_.resume && !summary.stopped && summary.epochs == recorder.resumed_epoch())
    console_.say("note", fmt::format("nothing was left to train after epoch {}{}", summary.epochs,
                                     summary.epochs >= options_.epochs ? ": more --epochs go on from there"
                                                                       : ", by --patience"));
  if (recorder.classes()) console_.classes(*recorder.classes(), summary);
  if (const std::string note = convergence_note(summary, options_); !note.empty()) console_.say("note", note);
  if (options_.profile) fmt::print("\n{}", format_op_table(trained.timer->spans(), trained.timer->steps()));
  const int signal = shared_->signal() != 0 ? shared_->signal() : SIGINT;  // another rank may have got it
  if (summary.stopped) console_.interrupted(signal, summary);
  if (options_.explain) console_.explain(options_, model.adj);
  if (summary.stopped) throw Interrupted{signal};
  return {summary, Console::result_line(task, summary, trained.details)};
}

}  // namespace rodeo
