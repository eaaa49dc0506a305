#include "train/commands/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>

#include "core/storage.h"
#include "train/commands/terminal.h"
#include "train/report/spmm_choices.h"

namespace rodeo {
namespace {

constexpr int kSubjectWidth = 16;

std::string row(std::string_view subject, std::string_view text) {
  // At least one blank between the columns.
  return fmt::format("{:<{}} {}\n", subject, kSubjectWidth - 1, text);
}

std::string percent_row(std::string_view subject, double ms, double total) {
  return row(subject, fmt::format("{:>9.3f} ms {:>5.1f} %", ms, 100 * ms / total));
}

}  // namespace

std::string format_epoch(const EpochReport& report) {
  const std::string total = std::to_string(report.epochs);
  std::string line =
      fmt::format("epoch {:>{}}/{}  loss {:.4f}", report.epoch, total.size(), total, report.loss);
  const auto out = std::back_inserter(line);
  if (const auto& e = report.evaluation)
    fmt::format_to(out, "  train {:.4f}  val {:.4f}  test {:.4f}", e->train, e->val, e->test);
  if (report.best_epoch > 0)
    fmt::format_to(out, "  best val {:.4f} in epoch {}", report.best.val, report.best_epoch);
  fmt::format_to(out, "  {:.3f} ms", report.ms);
  return line;
}

std::string format_rate(int done, double seconds, int left) {
  const double rate = done / seconds;
  const auto wait = static_cast<long long>(std::min(left / rate, 1e9));
  const std::string clock = wait < 3600
                                ? fmt::format("{}:{:02}", wait / 60, wait % 60)
                                : fmt::format("{}:{:02}:{:02}", wait / 3600, wait / 60 % 60, wait % 60);
  return fmt::format("{:.{}f} epochs/s, {} left", rate, rate < 10 ? 2 : 0, clock);
}

std::string format_result(const TrainSummary& summary) {
  return fmt::format("test {:.4f} val {:.4f} epoch {} final_test {:.4f} epochs {} median_ms {:.3f}",
                     summary.best.test, summary.best.val, summary.best_epoch, summary.last.test,
                     summary.epochs, summary.epoch_ms.median);
}

std::string format_summary(const NodeTask& task, const TrainSummary& summary) {
  const Statistics& ms = summary.epoch_ms;
  std::string table = row("load", fmt::format("{:>9.1f} ms", task.load_ms));
  if (task.order.defined()) table += row("reorder", fmt::format("{:>9.1f} ms", task.reorder_ms));
  table += row("convert", fmt::format("{:>9.1f} ms", task.convert_ms));
  table += row("first epochs", fmt::format("{:>9.3f} ms", fmt::join(summary.warmup_ms, " ms ")));
  if (ms.count > 0)
    table += row("epoch", fmt::format("{:>9.3f} ms median   {:.3f} mean   {:.3f} p95   ({} epochs)",
                                      ms.median, ms.mean, ms.p95, ms.count));
  if (const auto& [sparse, gemm, other] = summary.parts; sparse.count > 0) {
    const double total = sparse.median + gemm.median + other.median;
    table += percent_row("  sparse", sparse.median, total);
    table += percent_row("  GEMM", gemm.median, total);
    table += percent_row("  other", other.median, total);
  }
  table += row("evaluation", fmt::format("{:>9.3f} ms median", summary.evaluation_ms.median));
  table += row("peak memory", fmt::format("{} training, {} converting", format_bytes(summary.peak_bytes),
                                          format_bytes(task.convert_peak_bytes)));
  table += row(task.label.rank() == 2 ? "test micro-F1" : "test accuracy",
               fmt::format("{:.4f} at the best validation epoch, {} (val {:.4f})", summary.best.test,
                           summary.best_epoch, summary.best.val));
  table += row("", fmt::format("{:.4f} after the last epoch, {}", summary.last.test, summary.epochs));
  return table;
}

Console::Console(bool quiet)
    : quiet_(quiet), terminal_(isatty(STDOUT_FILENO) == 1), colours_(has_colours(STDOUT_FILENO)) {}

Console::~Console() {
  end_live_line();
}

void Console::end_live_line() {
  if (live_line_) std::fputc('\n', stdout);
  live_line_ = false;
}

void Console::say(std::string_view subject, std::string_view text) const {
  if (quiet_) return;
  fmt::print("{}", row(subject, text));
  std::fflush(stdout);
}

void Console::epoch(const EpochReport& report) {
  if (quiet_) return;
  const bool last = report.epoch == report.epochs;
  const auto now = Clock::now();
  constexpr int kWarmUp = 3;
  if (++seen_ <= kWarmUp) {
    timed_from_ = report.epoch;
    began_ = now;
  }
  std::string line = format_epoch(report);
  if (report.epoch == report.best_epoch) line = paint(colours_, Colour::kGreen, line);
  const double seconds = std::chrono::duration<double>(now - began_).count();
  if (seconds > 0 && !last)
    line += "  " + paint(colours_, Colour::kDim,
                         format_rate(report.epoch - timed_from_, seconds, report.epochs - report.epoch));
  if (!terminal_) {
    if (report.epoch == 1 || report.epoch % 10 == 0 || last) fmt::print("{}\n", line);
  } else if (last || now - drawn_ > std::chrono::milliseconds(100)) {
    // Clears the line and disables wrapping: a wrapped line could not be rewritten.
    fmt::print("\r\x1b[2K\x1b[?7l{}\x1b[?7h", line);
    live_line_ = true;
    drawn_ = now;
  }
  std::fflush(stdout);
}

void Console::finish(const NodeTask& task, const TrainSummary& summary) {
  end_live_line();
  if (quiet_)
    fmt::print("{}\n", format_result(summary));
  else
    fmt::print("\n{}", format_summary(task, summary));
}

void Console::interrupted(int signal, const TrainSummary& summary) const {
  if (quiet_) return;
  fmt::print("{}", row("stopped", fmt::format("by {} after epoch {}", signal == SIGINT ? "Ctrl-C" : "SIGTERM",
                                              summary.epochs)));
}

void Console::explain(SpmmAlgorithm requested, const Adjacency& adj) const {
  fmt::print("\n{}", format_spmm_choices(requested, adj));
}

}  // namespace rodeo
