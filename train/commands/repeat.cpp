#include "train/commands/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/error.h"
#include "core/threads.h"
#include "datasets/dataset.h"
#include "train/report/spread.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

/// The results, and the lines of those that are finished, in the order of the runs.
class Results {
 public:
  Results(const std::vector<PlannedRun>& runs, bool quiet)
      : runs_(runs), results_(runs.size()), quiet_(quiet) {}

  void add(std::size_t i, RunResult result) {
    const std::lock_guard lock(mutex_);
    results_[i] = {true, std::move(result)};
    for (; printed_ < results_.size() && results_[printed_].first; ++printed_)
      if (!quiet_) fmt::print("{}{}\n", runs_[printed_].name, results_[printed_].second.line);
    std::fflush(stdout);
  }

  /// `by_split`: those of each split first.
  void print_spread(bool by_split) const {
    if (!quiet_) fmt::print("\n");
    // The runs of a split are next to each other.
    for (std::size_t begin = 0, end = 0; by_split && !quiet_ && begin < runs_.size(); begin = end) {
      const std::string& split = runs_[begin].options.split;
      while (end < runs_.size() && runs_[end].options.split == split) ++end;
      const Values of = values(begin, end);
      fmt::print("split {:<3} {} seeds: test {}, val {}\n", split, end - begin, format_spread(of.test),
                 format_spread(of.val));
    }
    const Values all = values(0, runs_.size());
    const Spread of_test = spread(all.test), of_val = spread(all.val);
    if (quiet_)
      fmt::print("test {:.4f} deviation {:.4f} val {:.4f} val_deviation {:.4f} runs {}\n", of_test.mean,
                 of_test.deviation, of_val.mean, of_val.deviation, runs_.size());
    else
      fmt::print(
          "{} runs: test {:.4f} +- {:.4f}, val {:.4f} +- {:.4f} (mean +- standard deviation, at each "
          "run's best validation epoch)\n",
          runs_.size(), of_test.mean, of_test.deviation, of_val.mean, of_val.deviation);
  }

 private:
  struct Values {
    std::vector<double> val, test;
  };
  Values values(std::size_t begin, std::size_t end) const {
    Values of;
    for (std::size_t i = begin; i < end; ++i) {
      of.val.push_back(results_[i].second.summary.best.val);
      of.test.push_back(results_[i].second.summary.best.test);
    }
    return of;
  }

  const std::vector<PlannedRun>& runs_;
  std::vector<std::pair<bool, RunResult>> results_;
  std::size_t printed_ = 0;
  bool quiet_;
  std::mutex mutex_;
};

}  // namespace

bool is_repeated(const TrainOptions& options) {
  return options.seeds > 1 || options.all_splits || (options.task == TaskKind::kGraph && options.fold < 0);
}

void check_files_of_runs(const TrainOptions& o, const std::string& several) {
  const bool folds = o.task == TaskKind::kGraph && o.fold < 0;
  for (const TrainOption& row : option_table(published_options(o.model, o.task))) {
    if (!row.is(OptionFlag::kOneRun) || (row.is(OptionFlag::kLogged) && !o.log.empty())) continue;
    check(row.get(o) == row.default_value, "--", row.name, " is for one run: ",
          folds ? str("give --fold K, or leave it out for all ", o.folds, " folds")
                : str("not with ", several, ". --log appends all runs to one file"));
  }
  check(o.parallel == 1 || o.log.empty(), "--log writes one run after another: not with --parallel ",
        o.parallel);
}

std::vector<std::string> splits_to_run(const TrainOptions& options) {
  check(!options.all_splits || options.split.empty(),
        "--splits all trains on all splits of the file, and --split ", options.split,
        " is given, on the command line or in a file: leave one of them out");
  if (!options.all_splits) return {options.split};
  const std::size_t count = load_dataset(options.dataset, {.all_splits = true}).splits.size();
  check(count >= 1, options.dataset, ": --splits all needs masks, and the file has none");
  std::vector<std::string> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(std::to_string(k));
  return all;
}

std::vector<PlannedRun> runs_of(const TrainOptions& options, const std::vector<std::string>& splits) {
  const bool folds = options.task == TaskKind::kGraph && options.fold < 0;
  std::vector<PlannedRun> runs;
  for (const std::string& split : splits)
    for (int s = 0; s < options.seeds; ++s)
      for (int fold = 0; fold < (folds ? options.folds : 1); ++fold) {
        PlannedRun run{options, ""};
        TrainOptions& one = run.options;
        one.split = split;
        one.seed = options.seed + static_cast<std::uint64_t>(s);
        if (folds) one.fold = fold;
        one.seeds = 1;
        one.all_splits = false;
        one.parallel = 1;
        one.quiet = one.silent = true;
        if (options.all_splits) run.name += fmt::format("split {:<3} ", split);
        if (options.seeds > 1 || !folds) run.name += fmt::format("seed {:<4} ", one.seed);
        if (folds) run.name += fmt::format("fold {:<3} ", fold);
        runs.push_back(std::move(run));
      }
  return runs;
}

int threads_of_a_run(const TrainOptions& options, std::size_t count) {
  if (parse_device(options.device).is_cuda()) return num_threads();
  return std::max(1, num_threads() / std::min(options.parallel, static_cast<int>(count)));
}

void check_repeated(const TrainOptions& options) {
  check_files_of_runs(options, "--seeds and --splits");
  splits_to_run(options);
}

void train_repeated(const TrainOptions& options, const TrainOne& train) {
  check_files_of_runs(options, "--seeds and --splits");
  const std::vector<std::string> splits = splits_to_run(options);
  const std::vector<PlannedRun> runs = runs_of(options, splits);
  Results results(runs, options.quiet);
  run_in_parallel(
      runs.size(), options.parallel, threads_of_a_run(options, runs.size()),
      [&](std::size_t i, const RunHooks& hooks) { results.add(i, train(runs[i].options, hooks)); });
  results.print_spread(/*by_split=*/splits.size() > 1 && options.seeds > 1);
}

}  // namespace rodeo
