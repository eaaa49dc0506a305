/// What the user of a training command sees on stdout.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "train/task/run.h"
#include "train/trainer.h"

namespace rodeo {

/// "cuda:0 (NVIDIA H200)"; for the CPU that --device auto fell back to, also why.
std::string describe_device(std::string_view requested, Device device);
/// "epoch  10/200  loss 1.8533  train 0.9500  val 0.7100  test 0.7190  best val 0.7200 in epoch 8  0.812 ms"
std::string format_epoch(const EpochReport& report);
/// "1234 epochs/s, 1:05 left", from `done` epochs in `seconds` and `left` to go.
std::string format_rate(int done, double seconds, int left);
/// "test 0.8150 val 0.7920 epoch 87 final_test 0.8130 epochs 200 median_ms 1.234": name and value by turns.
/// test and val belong to the best validation epoch.
std::string format_result(const TrainSummary& summary);
/// The table of --explain: what kAuto chose on a graph and on its transpose, or the algorithm asked for.
std::string format_spmm_choices(SpmmAlgorithm asked, const Adjacency& adj);
/// The closing table, one aligned line for each subject.
std::string format_summary(const NodeTask& task, const TrainSummary& summary);

/// On a terminal progress is one line that is rewritten, at most ten times a second; in a pipe it is a line
/// for the first, every tenth and the last epoch. Both end with the rate and the time left, once the epochs
/// that build plans are over. When quiet, nothing but the result is printed.
class Console {
 public:
  explicit Console(bool quiet);
  /// Ends an unfinished progress line, so that an error starts on its own.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void say(std::string_view subject, std::string_view text) const;
  void epoch(const EpochReport& report);
  void finish(const NodeTask& task, const TrainSummary& summary);
  /// That a signal was heard.
  void interrupted(int signal, const TrainSummary& summary) const;
  /// The sparse kernels of a model that multiplied by `adj` forward and by its transpose backward.
  void explain(SpmmAlgorithm asked, const Adjacency& adj) const;

 private:
  void end_live_line();

  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_, colours_;
  int timed_from_ = 0;  // the epoch that ended at began_
  int seen_ = 0;
  Clock::time_point began_{};
  bool live_line_ = false;
  Clock::time_point drawn_{};
};

}  // namespace rodeo
