#include "train/commands/console_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "train/commands/device_text.h"
#include "train/report/op_report.h"
#include "train/task/advice.h"
#include "train/task/memory_estimate.h"

namespace rodeo {
namespace {

/// What each rank of mini-batches has.
std::string_view held_by_each(const TrainOptions& options, const NodeTask& task) {
  if (options.task == TaskKind::kGraph) return "graphs and features";
  if (options.graph_on == GraphOn::kPeers)
    return task.feature_rows ? "a part of graph and features" : "features, and a part of the graph,";
  return task.feature_rows ? "graph, and a part of the features," : "graph and features";
}

std::string describe_ranks(const NodePartition& nodes, std::int64_t num_nodes) {
  if (std::accumulate(nodes.rows().begin(), nodes.rows().end(), std::int64_t{0}) != num_nodes)
    return fmt::format("{} over {}, a range of the nodes of each type", nodes.ranks().size(),
                       nodes.ranks().backend());
  const auto [least, most] = std::minmax_element(nodes.rows().begin(), nodes.rows().end());
  return fmt::format("{} over {}, {} to {} nodes each", nodes.ranks().size(), nodes.ranks().backend(), *least,
                     *most);
}

}  // namespace

void describe(const Console& console, const NodeRun& run, const TrainOptions& options, Device device) {
  const auto& [task, model] = run;
  const bool nodes = options.task == TaskKind::kNode;
  console.say(
      "dataset",
      str(task.name, ": ", count_of(task.num_nodes, "node"), ", ",
          count_of(task.num_edges, nodes ? "edge" : "message edge"),
          task.num_features > 0 ? str(", ", count_of(task.num_features, "feature")) : "",
          nodes ? str(", ", count_of(task.num_classes, task.regression() ? "target" : "class")) : ""));
  console.say("split", fmt::format("{} train, {} val, {} test{}{}", task.split_sizes[0], task.split_sizes[1],
                                   task.split_sizes[2], nodes ? "" : " ", task.parts_of));
  if (task.partition) console.say("ranks", describe_ranks(*task.partition, task.num_nodes));
  if (task.ranks.size() > 1)
    console.say("ranks", fmt::format("{} over {}, {}; {} on each", task.ranks.size(), task.ranks.backend(),
                                     options.batch_by_parts ? "a part each" : "a share of each batch",
                                     held_by_each(options, task)));
  const auto& batches = run.model.mini_batches;
  console.say("features",
              task.features + (batches && !batches->features.empty() ? ", " + batches->features : ""));
  if (!task.places.empty()) console.say("placement", task.places);
  if (!task.reorder.empty())
    console.say("reorder", fmt::format("{}, in {:.1f} ms", task.reorder, task.reorder_ms));
  console.say("memory", str(format_bytes(memory_stats(device).current), " on ", device));
  console.say("algorithms", model.algorithms);
  for (const std::string& warning : task.warnings) console.say("warning", warning);
  if (options.aggregation != Aggregation::kAuto && !task.partition)
    console.say("warning",
                str("--aggregation ", options.aggregation,
                    task.ranks.size() > 1
                        ? " is for one whole graph, and ranks of mini-batches exchange gradients alone"
                        : " says what several ranks exchange, and this is one",
                    ": it has no effect"));
  console.say("model", fmt::format("{}: {} parameters", model.text, model.module->num_parameters()));
  if (task.metric != "accuracy") console.say("metric", task.metric + ", of train, val and test");
  console.blank_line();
}

ConsoleRun::ConsoleRun(RunBoard& board, std::size_t run, Device device)
    : board_(board), run_(run), options_(board.runs()[run].options), device_(device) {
  if (run_ == 0) board_.console().say("device", describe_device(options_.device, device));
}

void ConsoleRun::loaded(const NodeRun& run) {
  if (run_ > 0) return;
  const Console& console = board_.console();
  describe(console, run, options_, device_);
  // The estimate is for steps over the whole graph.
  const std::string warning = run.model.mini_batches ? "" : memory_warning(run, options_);
  if (!warning.empty()) console.say("warning", warning);
  if (options_.debug) console.say("debug", "the result of every kernel is checked; no CUDA graph");
  board_.watch_signals();
}

void ConsoleRun::started(const Recorder& recorder) {
  if (!options_.resume) return;
  const std::string from = recorder.resumed();
  board_.console().say("resumed", board_.runs()[run_].name +
                                      (from.empty() ? fmt::format("from the beginning: {} has no checkpoint",
                                                                  options_.checkpoint)
                                                    : fmt::format("{} from {}", from, options_.checkpoint)));
  if (!board_.has_several()) board_.console().blank_line();
}

void ConsoleRun::batch(int epoch, int batch, int batches) {
  board_.batch(run_, epoch, options_.epochs, batch, batches);
}

void ConsoleRun::epoch(const EpochReport& report) {
  board_.epoch(run_, report);
}

RunResult ConsoleRun::finish(const TrainedRun& trained, const Recorder& recorder) {
  const auto& [task, model] = trained.run;
  const TrainSummary& summary = trained.summary;
  RunResult result{summary, task.metric, Console::result_line(task, summary, trained.details),
                   run_notes(task, summary, options_)};
  if (options_.resume && !summary.stopped && summary.epochs == recorder.resumed_epoch())
    result.notes.insert(result.notes.begin(),
                        {"had nothing left to train", fmt::format(" after epoch {}", summary.epochs),
                         summary.epochs >= options_.epochs ? "More --epochs go on from there"
                                                           : "It had ended by --patience"});
  if (board_.has_several()) return result;
  Console& console = board_.console();
  console.finish(task, summary, trained.details);
  if (recorder.classes()) console.classes(*recorder.classes(), summary);
  for (const Note& note : result.notes) console.say("note", note.text());
  if (options_.profile) fmt::print("\n{}", format_op_table(trained.timer->spans(), trained.timer->steps()));
  if (summary.stopped) console.interrupted(board_.signal(), summary);
  if (options_.explain) console.explain(options_, model.adj);
  return result;
}

}  // namespace rodeo
