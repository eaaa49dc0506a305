/// Output of the training commands on stdout.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "train/report/class_report.h"
#include "train/task/node_task.h"
#include "train/trainer.h"

namespace rodeo {

/// "epoch  10/200  loss 1.8533  train 0.9500  val 0.7100  test 0.7190  best val 0.7200 in epoch 8  0.812 ms"
std::string format_epoch(const EpochReport& report);
/// The progress line in at most `width` columns: format_epoch() and the rate. Where they do not fit, what
/// says least is left out: the milliseconds, the training accuracy, the best epoch so far, and so on.
std::string format_progress(const EpochReport& report, const std::string& rate, int width);
/// "1234 epochs/s, 1:05 left", from `done` epochs in `seconds` and `left` epochs to go.
std::string format_rate(int done, double seconds, int left);
/// "test 0.8150 val 0.7920 epoch 87 final_test 0.8130 epochs 200 median_ms 1.234": names and values. test and
/// val are of the best validation epoch. A value that is not known, or not finite, is left out with its name.
/// With single labels " majority 0.3190" follows: NodeTask::majority.
std::string format_result(const NodeTask& task, const TrainSummary& summary);
/// The table at the end of a run.
std::string format_summary(const NodeTask& task, const TrainSummary& summary);

/// Prints progress and results. On a terminal, one progress line of its width is rewritten at most ten times
/// a second; otherwise, and where TERM is "dumb", the first, every tenth and the last epoch of a single run
/// get a line each, and one of several runs a line every ten seconds. After the warm-up epochs, lines end
/// with the rate and the time left. When quiet, only the result is printed; warnings and notes go to stderr.
class Console {
 public:
  /// prints: of several ranks the first.
  explicit Console(bool quiet, bool prints = true);
  /// Ends the progress line, so that an error message starts on a new line.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// One row of the table of facts: `text` is printable().
  void say(std::string_view subject, std::string_view text) const;
  void blank_line() const;
  /// run: begins the line of one of several runs, "seed 3    "; empty for a single one.
  void epoch(const EpochReport& report, const std::string& run = "");
  /// "epoch 3/10  batch 57/193", on a terminal.
  void batch(const std::string& run, int epoch, int epochs, int batch, int batches);
  /// The line of one of several runs, in place of its progress line.
  void result(const std::string& line);
  /// The line of a run that prints nothing else. details: more test results of the best epoch, by name.
  static std::string result_line(const NodeTask& task, const TrainSummary& summary,
                                 const std::vector<std::pair<std::string, double>>& details = {});
  void finish(const NodeTask& task, const TrainSummary& summary,
              const std::vector<std::pair<std::string, double>>& details = {});
  /// Prints precision, recall and F1 of the test nodes of each class.
  void classes(const ClassReport& report, const TrainSummary& summary) const;
  /// Prints that a signal ended the run.
  void interrupted(int signal, const TrainSummary& summary) const;
  /// Prints the SpMM algorithms chosen for `adj` (forward) and its transpose (backward), or the SDDMM
  /// algorithms of composed attention.
  void explain(const TrainOptions& options, const Adjacency& adj) const;

 private:
  void end_live_line();

  using Clock = std::chrono::steady_clock;
  bool quiet_, prints_, terminal_, colours_;
  std::string run_;     // whose progress is printed
  int timed_from_ = 0;  // the epoch that ended at began_
  int seen_ = 0;
  Clock::time_point began_{};
  bool live_line_ = false;
  Clock::time_point drawn_{};
};

}  // namespace rodeo
