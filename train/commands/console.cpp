#include "train/commands/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/host/terminal.h"
#include "core/quoting.h"
#include "core/storage.h"
#include "core/text.h"
#include "train/report/spmm_choices.h"
#include "train/task/advice.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

constexpr int kSubjectWidth = 16;

std::string row(std::string_view subject, std::string_view text) {
  // At least one blank between the columns.
  return fmt::format("{:<{}} {}\n", subject, kSubjectWidth - 1, text);
}

/// A part of the line of an epoch, and how much it says.
struct Part {
  std::string text;
  int weight;
};
constexpr int kAlways = 100;

std::vector<Part> parts_of(const EpochReport& report) {
  const std::string total = std::to_string(report.epochs);
  std::vector<Part> parts = {{fmt::format("epoch {:>{}}/{}", report.epoch, total.size(), total), kAlways},
                             {fmt::format("loss {:.4f}", report.loss), 6}};
  if (const auto& e = report.evaluation) {
    parts.push_back({fmt::format("train {:.4f}", e->train), 2});
    parts.push_back({fmt::format("val {:.4f}", e->val), 5});
    parts.push_back({fmt::format("test {:.4f}", e->test), 4});
  }
  if (report.best_epoch > 0)
    parts.push_back({fmt::format("best val {:.4f} in epoch {}", report.best.val, report.best_epoch), 3});
  parts.push_back({fmt::format("{:.3f} ms", report.ms), 1});
  return parts;
}

std::string percent_row(std::string_view subject, double ms, double total) {
  return row(subject, fmt::format("{:>9.3f} ms {:>5.1f} %", ms, 100 * ms / total));
}

}  // namespace

std::string format_epoch(const EpochReport& report) {
  return join(parts_of(report), "  ", &Part::text);
}

std::string format_progress(const EpochReport& report, const std::string& rate, int width) {
  std::vector<Part> parts = parts_of(report);
  if (!rate.empty()) parts.push_back({rate, kAlways});
  const auto line = [&] { return join(parts, "  ", &Part::text); };
  while (static_cast<int>(line().size()) > width) {
    const auto least = std::min_element(parts.begin(), parts.end(),
                                        [](const Part& a, const Part& b) { return a.weight < b.weight; });
    if (least->weight == kAlways) break;
    parts.erase(least);
  }
  return line().substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

std::string format_rate(int done, double seconds, int left) {
  const double rate = done / seconds;
  const auto wait = static_cast<long long>(std::min(left / rate, 1e9));
  const std::string clock = wait < 3600
                                ? fmt::format("{}:{:02}", wait / 60, wait % 60)
                                : fmt::format("{}:{:02}:{:02}", wait / 3600, wait / 60 % 60, wait % 60);
  return fmt::format("{:.{}f} epochs/s, {} left", rate, rate < 10 ? 2 : 0, clock);
}

std::string format_result(const NodeTask& task, const TrainSummary& summary) {
  std::string line;
  const auto add = [&](std::string_view name, double value, int digits) {
    if (std::isfinite(value))
      line += fmt::format("{}{} {:.{}f}", line.empty() ? "" : " ", name, value, digits);
  };
  add("test", summary.best.test, 4);
  add("val", summary.best.val, 4);
  if (summary.best_epoch > 0) add("epoch", summary.best_epoch, 0);
  add("final_test", summary.last.test, 4);
  add("epochs", summary.epochs, 0);
  add("median_ms", summary.epoch_ms.median, 3);
  if (task.majority_class >= 0) add("majority", task.majority, 4);
  return line;
}

std::string format_summary(const NodeTask& task, const TrainSummary& summary) {
  const Statistics& ms = summary.epoch_ms;
  std::string table = row("load", fmt::format("{:>9.1f} ms", task.load_ms));
  if (task.order.defined()) table += row("reorder", fmt::format("{:>9.1f} ms", task.reorder_ms));
  table += row("convert", fmt::format("{:>9.1f} ms", task.convert_ms));
  if (!summary.warmup_ms.empty())
    table += row("first epochs", fmt::format("{:>9.3f} ms", fmt::join(summary.warmup_ms, " ms ")));
  if (ms.count > 0)
    table += row("epoch", fmt::format("{:>9.3f} ms median   {:.3f} mean   {:.3f} p95   ({})", ms.median,
                                      ms.mean, ms.p95, count_of(ms.count, "epoch")));
  if (const StepParts& parts = summary.parts; parts.sparse.count > 0) {
    const double communication = parts.communication.count > 0 ? parts.communication.median : 0;
    const double total = parts.sparse.median + parts.gemm.median + communication + parts.other.median;
    table += percent_row("  sparse", parts.sparse.median, total);
    table += percent_row("  GEMM", parts.gemm.median, total);
    if (communication > 0) table += percent_row("  communication", communication, total);
    table += percent_row("  other", parts.other.median, total);
  }
  if (const auto& b = summary.batches; b && b->batches > 0) {
    table += row("batches", fmt::format("{:>9} an epoch, with {} edges and {} nodes each", b->batches,
                                        b->edges / b->batches, b->nodes / b->batches));
    if (const double total = b->sample_ms + b->gather_ms + b->train_ms; total > 0)
      table += percent_row("  sampling", b->sample_ms, total) +
               percent_row("  gathering", b->gather_ms, total) +
               percent_row("  training", b->train_ms, total);
    if (summary.wait_ms.count > 0)
      table += row("  waiting",
                   fmt::format("{:>9.3f} ms of an epoch, for the next batch", summary.wait_ms.median));
  }
  if (summary.evaluation_ms.count > 0)
    table += row("evaluation", fmt::format("{:>9.3f} ms median", summary.evaluation_ms.median));
  table += row("peak memory", fmt::format("{} training, {} converting", format_bytes(summary.peak_bytes),
                                          format_bytes(task.convert_peak_bytes)));
  if (summary.best_epoch > 0)
    table += row("test " + task.metric, fmt::format("{:.4f} at the best validation epoch, {} (val {:.4f})",
                                                    summary.best.test, summary.best_epoch, summary.best.val));
  if (summary.evaluation_ms.count > 0 || summary.batch == 0)
    table += row("", fmt::format("{:.4f} after the last epoch, {}", summary.last.test, summary.epochs));
  if (task.majority_class >= 0) table += row("", describe_majority(task));
  return table;
}

Console::Console(bool quiet, bool prints)
    : quiet_(quiet), prints_(prints), terminal_(has_live_terminal()), colours_(has_colours(STDOUT_FILENO)) {}

Console::~Console() {
  end_live_line();
}

void Console::end_live_line() {
  if (live_line_) std::fputc('\n', stdout);
  live_line_ = false;
}

void Console::say(std::string_view subject, std::string_view text) const {
  const bool remark = subject == "warning" || subject == "note";
  if (!prints_ || (quiet_ && !remark)) return;
  std::fflush(stdout);  // what was printed before comes first, where both go to one place
  fmt::print(quiet_ ? stderr : stdout, "{}", row(subject, printable(text)));
  std::fflush(stdout);
}

void Console::blank_line() const {
  if (!quiet_) fmt::print("\n");
}

void Console::epoch(const EpochReport& report, const std::string& run) {
  if (quiet_) return;
  const bool single = run.empty(), last = single && report.epoch == report.epochs;
  const auto now = Clock::now();
  if (run != run_) {
    run_ = run;
    seen_ = 0;
    if (!terminal_) drawn_ = now;
  }
  constexpr int kWarmUp = 3;
  if (++seen_ <= kWarmUp) {
    timed_from_ = report.epoch;
    began_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const std::string rate =
      seconds > 0 && !last ? format_rate(report.epoch - timed_from_, seconds, report.epochs - report.epoch)
                           : "";
  if (!terminal_) {
    if (single ? report.epoch == 1 || report.epoch % 10 == 0 || last
               : now - drawn_ > std::chrono::seconds(10)) {
      fmt::print("{}{}{}{}\n", run, format_epoch(report), rate.empty() ? "" : "  ", rate);
      drawn_ = now;
    }
  } else if (last || now - drawn_ > std::chrono::milliseconds(100)) {
    // One column less than the terminal: the cursor must not reach the next line.
    std::string line =
        run + format_progress(report, rate, terminal_width(80) - 1 - static_cast<int>(run.size()));
    if (const std::size_t at = rate.empty() ? line.npos : line.rfind(rate); at != line.npos)
      line = line.substr(0, at) + paint(colours_, Colour::kDim, rate);
    if (report.epoch == report.best_epoch) line = paint(colours_, Colour::kGreen, line);
    fmt::print("\r\x1b[2K{}", line);
    live_line_ = true;
    drawn_ = now;
  }
  std::fflush(stdout);
}

void Console::batch(const std::string& run, int epoch, int epochs, int batch, int batches) {
  const auto now = Clock::now();
  if (quiet_ || !terminal_ || now - drawn_ < std::chrono::milliseconds(100)) return;
  fmt::print("\r\x1b[2K{}epoch {}/{}  batch {}/{}", run, epoch, epochs, batch, batches);
  std::fflush(stdout);
  live_line_ = true;
  drawn_ = now;
}

void Console::result(const std::string& line) {
  if (quiet_) return;
  fmt::print("{}{}\n", std::exchange(live_line_, false) ? "\r\x1b[2K" : "", line);
  std::fflush(stdout);
}

std::string Console::result_line(const NodeTask& task, const TrainSummary& summary,
                                 const std::vector<std::pair<std::string, double>>& details) {
  std::string line = format_result(task, summary);
  for (const auto& [name, value] : details) line += fmt::format(" {} {:.4f}", name, value);
  return str(line, " metric ", task.metric);
}

void Console::finish(const NodeTask& task, const TrainSummary& summary,
                     const std::vector<std::pair<std::string, double>>& details) {
  end_live_line();
  if (quiet_) return fmt::print("{}\n", result_line(task, summary, details));
  constexpr std::size_t kInLine = 4;  // those of relations have lines of their own
  std::string parts, more;
  for (std::size_t i = 0; i < details.size(); ++i) {
    const std::string part = fmt::format("{} {:.4f}", details[i].first, details[i].second);
    (i < kInLine ? parts : more) += i < kInLine ? (i > 0 ? "   " : "") + part : row("", part);
  }
  fmt::print("\n{}{}{}", format_summary(task, summary), parts.empty() ? "" : row("test", parts), more);
}

void Console::classes(const ClassReport& report, const TrainSummary& summary) const {
  if (quiet_) return;
  const bool best = summary.best_epoch > 0;
  fmt::print("\ntest nodes by class, after the {} epoch, {}\n{}", best ? "best validation" : "last",
             best ? summary.best_epoch : summary.epochs, format_classes(report));
}

void Console::interrupted(int signal, const TrainSummary& summary) const {
  if (quiet_) return;
  const char* const by = signal == SIGINT ? "Ctrl-C" : signal == SIGHUP ? "SIGHUP" : "SIGTERM";
  fmt::print("{}",
             row("stopped", summary.batch > 0 ? fmt::format("by {} after batch {} of epoch {}", by,
                                                            summary.batch, summary.epochs + 1)
                                              : fmt::format("by {} after epoch {}", by, summary.epochs)));
}

void Console::explain(const TrainOptions& options, const Adjacency& adj) const {
  fmt::print("\n{}\n{}", describe_aggregation(options, adj.device()), format_choices(options, adj));
}

}  // namespace rodeo
