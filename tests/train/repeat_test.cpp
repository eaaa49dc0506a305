#include "train/commands/repeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "core/threads.h"
#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "train/commands/run_command.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

/// Options of `count` runs, `parallel` at a time.
TrainOptions several(int count, int parallel) {
  TrainOptions options = published_options("gcn");
  options.device = "cpu";
  options.seeds = count;
  options.parallel = parallel;
  return options;
}

/// A run of a board, as ConsoleRun has it.
struct Turn {
  RunBoard& board;
  std::size_t run;

  void epoch(int number) const {
    EpochReport report;
    report.epoch = number;
    board.epoch(run, report);
  }
};

void train_repeated(const TrainOptions& options,
                    const std::function<RunResult(const TrainOptions&, const Turn&)>& train) {
  RunBoard board(options, runs_of(options));
  board.train([&](std::size_t i) { return train(board.runs()[i].options, {board, i}); });
}

RunResult result(double test, double val, std::vector<Note> notes = {}) {
  RunResult of{{}, "accuracy", "done", std::move(notes)};
  of.summary.best.test = test, of.summary.best.val = val;
  return of;
}

TEST(TrainRepeat, EverySeedAndTheirSpread) {
  TrainOptions options = published_options("gcn");
  EXPECT_FALSE(is_repeated(options));
  options.seeds = 3;
  options.seed = 5;
  options.quiet = true;
  ASSERT_TRUE(is_repeated(options));
  std::vector<std::uint64_t> seeds;
  testing::internal::CaptureStdout();
  train_repeated(options, [&](const TrainOptions& one, const Turn&) {
    EXPECT_FALSE(is_repeated(one));
    seeds.push_back(one.seed);
    return result(0.5 + 0.1 * static_cast<double>(seeds.size()), 0.5);
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "test 0.7000 deviation 0.1000 val 0.5000 val_deviation 0.0000 runs 3 metric accuracy\n");
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{5, 6, 7}));
}

// N seeds on each split; the runs differ in nothing else.
TEST(TrainRepeat, SeedsOnEverySplit) {
  const TempDir dir;
  Parts parts;
  parts.train_mask = flags({1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}).reshape({6, 2});
  parts.val_mask = flags({0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}).reshape({6, 2});
  parts.test_mask = flags({0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0}).reshape({6, 2});
  parts.write(dir / "two.h5");
  TrainOptions options = several(2, 1);
  options.dataset = dir / "two.h5";
  options.all_splits = true;
  const double results[] = {0.5, 0.7, 0.2, 0.2};
  std::vector<std::pair<std::string, std::uint64_t>> runs;
  const auto text = [&] {
    runs.clear();
    testing::internal::CaptureStdout();
    train_repeated(options, [&](const TrainOptions& one, const Turn&) {
      runs.emplace_back(one.split, one.seed);
      return result(results[runs.size() - 1], 0.5);
    });
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(text(),
            "split 0   seed 0    done\nsplit 0   seed 1    done\n"
            "split 1   seed 0    done\nsplit 1   seed 1    done\n\n"
            "split 0   2 seeds: test accuracy 0.6000 +- 0.1414, val 0.5000 +- 0.0000\n"
            "split 1   2 seeds: test accuracy 0.2000 +- 0.0000, val 0.5000 +- 0.0000\n"
            "4 runs: test accuracy 0.4000 +- 0.2449, val 0.5000 +- 0.0000 (mean +- standard deviation, at "
            "each run's "
            "best validation epoch)\n");
  EXPECT_EQ(runs,
            (std::vector<std::pair<std::string, std::uint64_t>>{{"0", 0}, {"0", 1}, {"1", 0}, {"1", 1}}));
  options.quiet = true;
  EXPECT_EQ(text(), "test 0.4000 deviation 0.2449 val 0.5000 val_deviation 0.0000 runs 4 metric accuracy\n");
  options.quiet = false;
  options.seeds = 1;  // the lines of the runs say it all
  EXPECT_EQ(text(),
            "split 0   seed 0    done\nsplit 1   seed 0    done\n\n"
            "2 runs: test accuracy 0.6000 +- 0.1414, val 0.5000 +- 0.0000 (mean +- standard deviation, at "
            "each run's "
            "best validation epoch)\n");
}

TEST(TrainRepeat, EachRunHasItsFiles) {
  TrainOptions options = several(2, 1);
  options.export_file = "w-{seed}.safetensors";
  options.log = "log.jsonl";
  std::vector<PlannedRun> runs = runs_of(options);
  EXPECT_EQ(runs[1].options.export_file, "w-1.safetensors");
  EXPECT_EQ(runs[1].options.log, "log.jsonl");  // appended
  options.seeds = 1;
  runs = runs_of(options);
  EXPECT_EQ(runs[0].options.export_file, "w-0.safetensors");
  options.export_file = "w.safetensors";
  EXPECT_EQ(runs_of(options)[0].options.export_file, "w.safetensors");
  options.seeds = 2;
  EXPECT_ERROR(runs_of(options),
               "--export w.safetensors is of 2 runs: put {seed} into its name, so that each has its own");
  options.export_file.clear();
  options.parallel = 2;
  EXPECT_ERROR(runs_of(options),
               "--log log.jsonl is of 2 runs: put {seed} into its name, so that each has its own");
  options.log = "log-{seed}.jsonl";
  EXPECT_EQ(runs_of(options)[1].options.log, "log-1.jsonl");
  options.profile = true;
  EXPECT_ERROR(runs_of(options), "--profile is for one run: not with --seeds and --splits");
  options.profile = false;
  options.all_splits = true;
  options.split = "60/20/20";
  EXPECT_ERROR(runs_of(options),
               "--splits all trains on all splits of the file, and --split 60/20/20 is given, on the command "
               "line or in a file: leave one of them out");
  options = several(2, 1);
  options.task = TaskKind::kGraph;
  options.folds = 3;
  options.csv = "{fold}.csv";
  EXPECT_ERROR(
      runs_of(options),
      "--csv {fold}.csv is of 6 runs: put {seed} and {fold} into its name, so that each has its own");
  options.csv = "{seed}-{fold}.csv";
  EXPECT_EQ(runs_of(options)[4].options.csv, "1-1.csv");
}

TEST(TrainRepeat, RunsAtATimeShareTheThreads) {
  const int before = num_threads();
  set_num_threads(8);
  TrainOptions options = several(9, 4);
  options.device = "cpu";
  EXPECT_EQ(threads_of_a_run(options, 9), 2);
  EXPECT_EQ(threads_of_a_run(options, 3), 2);  // 8 / 3
  EXPECT_EQ(threads_of_a_run(options, 2), 4);
  options.parallel = 9;
  EXPECT_EQ(threads_of_a_run(options, 9), 1);
  set_num_threads(before);
}

TEST(TrainRepeat, NotesAreCounted) {
  std::string text;
  const auto run = [&](const TrainOptions& options) {
    testing::internal::CaptureStdout();
    train_repeated(options, [&](const TrainOptions& one, const Turn&) {
      return result(0.5, 0.5, {{one.seed == 1 ? "diverged" : "not converged", str(": ", one.seed), "Try"}});
    });
    text = testing::internal::GetCapturedStdout();
  };
  TrainOptions options = several(3, 1);
  run(options);
  EXPECT_TRUE(text.ends_with(
      "\nnote            2 of 3 runs not converged. Try\nnote            1 of 3 runs diverged. Try\n"))
      << text;
  testing::internal::CaptureStdout();
  train_repeated(options, [&](const TrainOptions& one, const Turn&) {
    return result(0.5, 0.5, {{"no better than chance", "", one.seed == 1 ? "Try a" : "Try b"}});
  });
  text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(
      text.ends_with("note            2 of 3 runs no better than chance. Try b\n"
                     "note            1 of 3 runs no better than chance. Try a\n"))
      << text;
  options.quiet = true;  // one line; remarks go to stderr
  testing::internal::CaptureStderr();
  run(options);
  EXPECT_EQ(text, "test 0.5000 deviation 0.0000 val 0.5000 val_deviation 0.0000 runs 3 metric accuracy\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note            2 of 3 runs not converged. Try\nnote            1 of 3 runs diverged. Try\n");
}

// Ctrl-C in the second or third of four runs.
TEST(TrainRepeat, AStoppedSeriesHasTheMeanOfWhatRan) {
  const auto text = [](std::uint64_t last, bool quiet) {
    TrainOptions options = several(4, 1);
    options.quiet = quiet;
    testing::internal::CaptureStdout();
    EXPECT_THROW(train_repeated(options,
                                [&](const TrainOptions& one, const Turn&) {
                                  RunResult of = result(0.1 * static_cast<double>(one.seed), 0.5);
                                  of.summary.stopped = one.seed == last;
                                  return of;
                                }),
                 Interrupted);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(text(2, false),
            "seed 0    done\nseed 1    done\nseed 2    done (stopped, not counted below)\n\n"
            "2 of 4 runs: test accuracy 0.0500 +- 0.0707, val 0.5000 +- 0.0000 (mean +- standard deviation, "
            "at each "
            "run's best validation epoch)\n");
  EXPECT_TRUE(text(1, false).ends_with(
      "\n1 of 4 runs: test accuracy 0.0000, val 0.5000 (at its best validation epoch)\n"));
  EXPECT_EQ(text(1, true), "test 0.0000 val 0.5000 runs 1 metric accuracy\n");
  EXPECT_EQ(text(0, true), "");
}

TEST(TrainRepeat, ParallelRunsPrintTheLinesOfOneAfterAnother) {
  std::string text[2];
  std::atomic<int> now = 0, most = 0;
  for (const int parallel : {1, 4}) {
    testing::internal::CaptureStdout();
    train_repeated(several(9, parallel), [&](const TrainOptions& one, const Turn& turn) {
      most = std::max(most.load(), ++now);
      turn.epoch(1);
      turn.epoch(2);
      if (parallel > 1)  // until others run beside it
        for (int i = 0; i < 2000 && most < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --now;
      RunResult of = result(0.1 * static_cast<double>(one.seed), 0);
      of.line = str("test of ", one.seed);
      return of;
    });
    text[parallel > 1] = testing::internal::GetCapturedStdout();
  }
  EXPECT_EQ(text[0], text[1]);
  EXPECT_EQ(text[0].substr(0, 28), "seed 0    test of 0\nseed 1  ");
  EXPECT_GE(most, 2);
  EXPECT_LE(most, 4);
}

TEST(TrainRepeat, TheFirstRunHasTwoEpochsToItself) {
  std::atomic<bool> second = false, alone = true;
  testing::internal::CaptureStdout();
  train_repeated(several(2, 2), [&](const TrainOptions& one, const Turn& turn) {
    if (one.seed == 1) {
      second = true;
      return RunResult();
    }
    turn.epoch(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    alone = !second;
    turn.epoch(2);
    return RunResult();
  });
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(alone);
}

TEST(TrainRepeat, AFaultEndsTheOtherRuns) {
  std::atomic<int> begun = 0;
  testing::internal::CaptureStdout();
  EXPECT_ERROR(train_repeated(several(50, 3),
                              [&](const TrainOptions& one, const Turn& turn) -> RunResult {
                                ++begun;
                                turn.epoch(2);
                                if (one.seed == 1) fail("of run 1");
                                while (!turn.board.stops()) std::this_thread::yield();
                                fail("of those that it ended");
                              }),
               "of run 1");
  testing::internal::GetCapturedStdout();
  EXPECT_LE(begun, 3);
}

TEST(TrainRepeat, FoldsAreRuns) {
  TrainOptions options = several(2, 1);
  options.task = TaskKind::kGraph;
  options.folds = 2;
  ASSERT_TRUE(is_repeated(options));
  std::vector<std::pair<std::uint64_t, int>> runs;
  testing::internal::CaptureStdout();
  train_repeated(options, [&](const TrainOptions& one, const Turn&) {
    EXPECT_FALSE(is_repeated(one));
    runs.emplace_back(one.seed, one.fold);
    return result(0, 0);
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout().substr(0, 48),
            "seed 0    fold 0   done\nseed 0    fold 1   done\n");
  EXPECT_EQ(runs, (std::vector<std::pair<std::uint64_t, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

}  // namespace
}  // namespace rodeo::test
