#include "train/report/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <fstream>

#include "core/quoting.h"
#include "core/storage.h"
#include "core/text.h"
#include "train/io/settings.h"
#include "train/report/analysis.h"
#include "train/report/page.h"
#include "train/report/spmm_choices.h"
#include "train/report/svg.h"
#include "train/task/advice.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

template <class F>
svg::Series series(std::string name, const std::vector<EpochReport>& history, F&& value, bool dots = false) {
  svg::Series s{std::move(name), {}, {}, dots};
  for (const EpochReport& report : history) {
    s.x.push_back(report.epoch);
    s.y.push_back(value(report));
  }
  return s;
}

template <class F>
auto evaluated(F member) {
  return
      [member](const EpochReport& r) { return r.evaluation ? (*r.evaluation).*member : Statistics::kNone; };
}

template <class F>
auto part(F member) {
  return [member](const EpochReport& r) { return r.parts ? (*r.parts).*member : Statistics::kNone; };
}

std::string curves(const std::vector<EpochReport>& history, int best_epoch, const NodeTask& task) {
  const std::string& metric = task.metric;
  std::string title = metric;
  title[0] = static_cast<char>(std::toupper(title[0]));
  const auto axes = [&](std::string heading, std::string y) {
    svg::Axes marked{.title = std::move(heading), .x = "epoch", .y = std::move(y)};
    if (best_epoch > 0) marked.mark = best_epoch, marked.mark_text = fmt::format("best epoch {}", best_epoch);
    return marked;
  };
  const auto ms = [](const EpochReport& r) { return r.ms; };
  std::vector<svg::Series> times = {series("training step", history, ms),
                                    series("sparse", history, part(&PartTimes::sparse), true),
                                    series("GEMM", history, part(&PartTimes::gemm), true),
                                    series("other", history, part(&PartTimes::other), true)};
  const auto communicates = [](const EpochReport& r) { return r.parts && r.parts->communication > 0; };
  if (std::any_of(history.begin(), history.end(), communicates))
    times.push_back(series("communication", history, part(&PartTimes::communication), true));
  return section("Loss", svg::lines(axes("Loss by epoch", task.regression() ? "error" : "cross entropy"),
                                    {series("training", history, [](const EpochReport& r) { return r.loss; }),
                                     series("validation", history, evaluated(&Evaluation::val_loss))})) +
         section(title,
                 svg::lines(axes(fmt::format("{} by epoch", metric), task.regression() ? metric : "share"),
                            {series("train", history, evaluated(&Evaluation::train)),
                             series("validation", history, evaluated(&Evaluation::val)),
                             series("test", history, evaluated(&Evaluation::test))})) +
         section(
             "Time",
             svg::lines({.title = "Milliseconds by epoch", .x = "epoch", .y = "ms", .log_y = true}, times),
             "The parts are of profiled epochs. The first epochs build plans and fill memory pools.");
}

/// Sizes of mini-batches, and the parts of an epoch of them.
std::string mini_batches(const TrainSummary& summary) {
  const auto& b = summary.batches;
  if (!b || b->batches == 0) return {};
  std::vector<svg::Bar> bars;
  const auto add = [&](const char* label, double ms) {
    bars.push_back({label, ms, fmt::format("{:.3f} ms", ms)});
  };
  if (b->train_ms > 0)
    add("sampling", b->sample_ms), add("gathering", b->gather_ms), add("training", b->train_ms);
  if (summary.wait_ms.count > 0) add("waiting", summary.wait_ms.median);
  return section(
      "Mini-batches", bars.empty() ? "" : svg::bars("Milliseconds of an epoch by part", bars),
      fmt::format("{} an epoch, with {} edges and {} nodes each. Sampling, gathering and training are of a "
                  "profiled epoch, one after the other. Waiting is what training waits for the next batch in "
                  "the other epochs, which sample beside it.",
                  b->batches, b->edges / b->batches, b->nodes / b->batches));
}

std::string kernels(const TrainOptions& options, const NodeRun& run, const RunFacts& facts) {
  std::string text = facts.algorithms + "\n";
  if (run.model.adj.defined()) text += format_choices(options, run.model.adj);
  return section("Kernels", fmt::format("<pre>{}</pre>\n", html_text(text)));
}

/// Times of the parts of a step, and peak memory, of each rank. A collective call.
std::string of_each_rank(const NodeTask& task, const TrainSummary& summary) {
  const Communicator& ranks = task.partition ? task.partition->ranks() : task.ranks;
  if (ranks.size() == 1) return {};
  const StepParts& parts = summary.parts;
  const std::vector<std::pair<const char*, double>> of_rank = {{"sparse", parts.sparse.median},
                                                               {"GEMM", parts.gemm.median},
                                                               {"communication", parts.communication.median},
                                                               {"other", parts.other.median}};
  std::vector<double> own{static_cast<double>(summary.peak_bytes)};
  for (const auto& [name, ms] : of_rank) own.push_back(ms);
  const std::vector<double> all = ranks.all_gather(Tensor::from(own)).to_vector<double>();
  std::vector<svg::Bar> times, bytes;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const double* values = all.data() + static_cast<std::ptrdiff_t>(rank * std::ssize(own));
    bytes.push_back({fmt::format("rank {}", rank), values[0], format_bytes(values[0])});
    for (std::size_t p = 0; p < of_rank.size(); ++p)
      if (std::isfinite(values[p + 1]))
        times.push_back({fmt::format("rank {}: {}", rank, of_rank[p].first), values[p + 1],
                         fmt::format("{:.3f} ms", values[p + 1])});
  }
  std::string out =
      section("Memory of each rank", svg::bars("Memory by rank", bytes), "Of tensors in training, at most.");
  if (!times.empty())
    out +=
        section("Time of each rank", svg::bars("Milliseconds of a step by rank and part", times),
                "Medians of profiled epochs. A rank that has less to compute waits for the others: that is "
                "in its communication.");
  return out;
}

std::string memory(const NodeRun& run, const RunFacts& facts, const TrainSummary& summary) {
  const auto bar = [](std::string label, std::int64_t bytes) {
    return svg::Bar{std::move(label), static_cast<double>(bytes), format_bytes(static_cast<double>(bytes))};
  };
  return section("Memory of tensors",
                 svg::bars("Memory", {bar("converting, at most", run.task.convert_peak_bytes),
                                      bar("graph and features", facts.data_bytes),
                                      bar("training, at most", summary.peak_bytes)}));
}

std::string step_curve(const std::vector<double>& bytes) {
  if (bytes.empty()) return {};  // no epoch was profiled
  svg::Series held{"held", {}, {}, false};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    held.x.push_back(static_cast<double>(i + 1));
    held.y.push_back(bytes[i] / (1 << 20));
  }
  return section(
      "Memory over a step",
      svg::lines({.title = "Memory of tensors by kernel", .x = "kernel of the step", .y = "MiB"}, {held}),
      "In a profiled epoch, forward and then backward, while each kernel ran.");
}

std::string degrees(const Adjacency& adj, bool of_rank) {
  std::vector<svg::Bar> bars;
  for (const auto& [low, count] : degree_histogram(adj.csr().row_ptr))
    bars.push_back({low < 2 ? std::to_string(low) : fmt::format("{} to {}", low, 2 * low - 1),
                    static_cast<double>(count), std::to_string(count)});
  return section("Degrees", svg::bars("Number of nodes by degree", bars),
                 of_rank
                     ? "Edges of a node in the graph that the model reads, by the number of nodes of rank 0."
                     : "Edges of a node in the graph that the model reads, by the number of nodes.");
}

/// "the best epoch, 69" or "the last epoch, 200".
std::string name_epoch(int epoch, const TrainSummary& summary) {
  return fmt::format("the {} epoch, {}", epoch == summary.best_epoch ? "best" : "last", epoch);
}

/// The options; those with another value than the model's defaults are marked.
std::string configuration(const TrainOptions& options) {
  const Json settings = settings_of(options),
             defaults = settings_of(published_options(options.model, options.task));
  std::string rows = "<table>\n";
  for (const auto& [name, value] : settings.items()) {
    const bool same = defaults.contains(name) && defaults[name] == value;
    rows += fmt::format("<tr{}><th scope=\"row\">{}</th><td>{}</td></tr>\n", same ? "" : " class=\"changed\"",
                        html_text(name), html_text(json_text(value)));
  }
  return rows + "</table>\n";
}

/// The command line of this process, quoted for a shell; empty where /proc does not have it.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line;
  for (std::string argument; std::getline(file, argument, '\0');) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+./,:@%";
    std::string quoted;
    for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const bool plain = !argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos;
    line += str(line.empty() ? "" : " ", plain ? argument : str("'", quoted, "'"));
  }
  return line;
}

}  // namespace

std::string make_report(const TrainOptions& options, const NodeRun& run, const RunFacts& facts,
                        const std::vector<EpochReport>& history, const TrainSummary& summary,
                        int weights_epoch, const std::vector<double>& step_memory) {
  const NodeTask& task = run.task;
  const auto ms = [](double value) { return fmt::format("{:.3f} ms", value); };
  const std::string title = fmt::format("{} on {}", options.model, task.name);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" "
      "href=\"data:,\"><title>{0}</title>\n<style>{1}{2}</style></head>\n<body><h1>{0}</h1>\n<main>\n",
      html_text(title), svg::style(), page_style());
  const auto value = [&](double v) { return task.regression() ? fmt::format("{:.4f}", v) : percent(v); };
  std::vector<std::string> notes = {
      fmt::format("{} after the last epoch, {}", value(summary.last.test), summary.epochs)};
  if (task.majority_class >= 0) notes.push_back(describe_majority(task));
  std::vector<std::string> warnings = task.warnings;
  for (const Note& note : run_notes(task, summary, options)) warnings.push_back(note.text());
  page += fmt::format(
      "<section class=\"result\"><p><b>{}</b></p>\n<p>test {} at the best validation epoch, {} (validation "
      "{})</p>\n",
      value(summary.best.test), task.metric, summary.best_epoch, value(summary.best.val));
  for (const std::string& note : notes) page += fmt::format("<p class=\"note\">{}</p>\n", html_text(note));
  for (const std::string& warning : warnings)
    page += fmt::format("<p class=\"warning\">{}</p>\n", prose(warning));
  page += "</section>\n";
  page += section(
      "Run",
      table({{"split", fmt::format("{} train, {} val, {} test {}", task.split_sizes[0], task.split_sizes[1],
                                   task.split_sizes[2], task.parts_of.empty() ? "nodes" : task.parts_of)},
             {"epoch", fmt::format("{} median, {} p95 of {}", ms(summary.epoch_ms.median),
                                   ms(summary.epoch_ms.p95), summary.epoch_ms.count)},
             {"evaluation", ms(summary.evaluation_ms.median)},
             {"model", fmt::format("{}: {} parameters", facts.model, facts.parameters)},
             {"order of nodes", task.reorder.empty() ? "the file's" : task.reorder},
             {"dataset",
              str(task.name, ": ", count_of(task.num_nodes, "node"), ", ", count_of(task.num_edges, "edge"),
                  ", ", count_of(task.num_features, "feature"),
                  options.task == TaskKind::kLink
                      ? ""
                      : str(", ", count_of(task.num_classes, task.regression() ? "target" : "class")))},
             {"device", facts.device},
             {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))},
             {"command", command_line()}}));
  page += curves(history, summary.best_epoch, task);
  page += predictions(run, name_epoch(weights_epoch, summary));
  page += mini_batches(summary);
  if (run.model.adj.defined()) page += degrees(run.model.adj, run.model.adj.rows() < task.num_nodes);
  const std::string charts =
      memory(run, facts, summary) + of_each_rank(task, summary) + step_curve(step_memory);
  page += section("Kernels and memory",
                  fmt::format("<div class=\"charts\">{}{}</div>", charts, kernels(options, run, facts)), "",
                  true);
  page += section("Configuration", configuration(options), "Bold: differs from the model's defaults.", true);
  page += section("Versions", table(versions()), "", true);
  return page + "</main></body></html>\n";
}

}  // namespace rodeo
