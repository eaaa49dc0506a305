/// The runs of one command: one, or several for --seeds, --splits and folds, one after another or some at a
/// time.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "train/commands/console.h"
#include "train/commands/interrupt.h"
#include "train/task/advice.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// What a run leaves.
struct RunResult {
  TrainSummary summary;
  std::string metric;  // "accuracy"
  std::string line;    // what is printed of one of several runs
  std::vector<Note> notes;
};

using TrainOne = std::function<RunResult(std::size_t run)>;

/// Whether `options` ask for several runs.
bool is_repeated(const TrainOptions& options);

struct PlannedRun {
  TrainOptions
      options;       // without --seeds and the like; {seed}, {split} and {fold} in file names are replaced
  std::string name;  // tells it from the others: "split 0   seed 3    "; empty for a single run
};

/// A run for each split, each seed (options.seed, and the numbers after it) and each fold, in this order.
/// Throws Error where several would write one file, for options whose output is of one run, for --splits with
/// --split, and for a dataset whose masks have no columns to go through.
std::vector<PlannedRun> runs_of(const TrainOptions& options);
/// Threads of each of `count` runs, of which options.parallel train at a time: on the CPU their share of
/// num_threads().
int threads_of_a_run(const TrainOptions& options, std::size_t count);

/// What the runs of a command share: the console, the signals and the results.
class RunBoard {
 public:
  /// prints: of several ranks the first.
  explicit RunBoard(const TrainOptions& options, std::vector<PlannedRun> runs, bool prints = true);

  const std::vector<PlannedRun>& runs() const { return runs_; }
  bool has_several() const { return runs_.size() > 1; }
  Console& console() { return console_; }

  /// Calls train() for each run. Of several, prints a line for each in their order, then mean and standard
  /// deviation (of a sample, n - 1) of the results; with --splits all and several seeds, those of each split
  /// too; and how many runs have a note. options.parallel threads run that many at a time;
  /// options.device is cuda: on one GPU, each with its own stream. Then the first run has two epochs to
  /// itself, in which SpMM kernels are chosen. A run has the same bits alone: on the CPU, with as many
  /// threads. What train() throws makes stops() true for the other runs, and is thrown after the results of
  /// those that ended.
  void train(const TrainOne& train);

  /// Called by the first run when it has loaded its data: from now on, signals are recorded.
  void watch_signals();
  /// SIGINT or SIGTERM; 0: none.
  int signal() const { return signals_ ? signals_->signal() : 0; }
  /// Whether runs end after this epoch or mini-batch: a signal, or an error of one of them.
  bool stops() const { return signal() != 0 || failed_; }
  /// Progress of a run, to be called after each epoch. Of several at a time, the first that has not ended is
  /// shown.
  void epoch(std::size_t run, const EpochReport& report);
  void batch(std::size_t run, int epoch, int epochs, int batch, int batches);

 private:
  /// Takes runs until there are none.
  void work(const TrainOne& train);
  void begin_others();
  void add(std::size_t run, RunResult result);
  void print_results() const;
  void print_notes(const std::vector<const RunResult*>& results) const;
  /// The results of the runs in [begin, end) that were not cut short.
  std::vector<const RunResult*> ended(std::size_t begin, std::size_t end) const;

  const TrainOptions& options_;
  std::vector<PlannedRun> runs_;
  std::vector<std::optional<RunResult>> results_;
  std::size_t printed_ = 0;  // runs whose line is printed
  Console console_;
  std::optional<StopOnSignal> signals_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> begun_{false};  // the first run has had its epochs alone
  std::exception_ptr error_;        // the first
  std::mutex mutex_;
};

}  // namespace rodeo
