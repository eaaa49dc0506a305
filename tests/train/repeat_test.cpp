#include "train/commands/repeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
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

TEST(TrainRepeat, EverySeedAndTheirSpread) {
  TrainOptions options = published_options("gcn");
  EXPECT_FALSE(is_repeated(options));
  options.seeds = 3;
  options.seed = 5;
  options.quiet = true;
  ASSERT_TRUE(is_repeated(options));
  std::vector<std::uint64_t> seeds;
  testing::internal::CaptureStdout();
  train_repeated(options, [&](const TrainOptions& one, const RunHooks&) {
    EXPECT_FALSE(is_repeated(one));
    seeds.push_back(one.seed);
    TrainSummary summary;
    summary.best.test = 0.5 + 0.1 * static_cast<double>(seeds.size());
    summary.best.val = 0.5;
    return RunResult{summary, ""};
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "test 0.7000 deviation 0.1000 val 0.5000 val_deviation 0.0000 runs 3\n");
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
    train_repeated(options, [&](const TrainOptions& one, const RunHooks&) {
      RunResult result;
      result.summary.best.test = runs.size() < 4 ? results[runs.size()] : 0;
      result.summary.best.val = 0.5;
      result.line = "done";
      runs.emplace_back(one.split, one.seed);
      return result;
    });
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(text(),
            "split 0   seed 0    done\nsplit 0   seed 1    done\n"
            "split 1   seed 0    done\nsplit 1   seed 1    done\n\n"
            "split 0   2 seeds: test 0.6000 +- 0.1414, val 0.5000 +- 0.0000\n"
            "split 1   2 seeds: test 0.2000 +- 0.0000, val 0.5000 +- 0.0000\n"
            "4 runs: test 0.4000 +- 0.2449, val 0.5000 +- 0.0000 (mean +- standard deviation, at each run's "
            "best validation epoch)\n");
  EXPECT_EQ(runs,
            (std::vector<std::pair<std::string, std::uint64_t>>{{"0", 0}, {"0", 1}, {"1", 0}, {"1", 1}}));
  options.quiet = true;
  EXPECT_EQ(text(), "test 0.4000 deviation 0.2449 val 0.5000 val_deviation 0.0000 runs 4\n");
  options.quiet = false;
  options.seeds = 1;  // the lines of the runs say it all
  EXPECT_EQ(text(),
            "split 0   seed 0    done\nsplit 1   seed 0    done\n\n"
            "2 runs: test 0.6000 +- 0.1414, val 0.5000 +- 0.0000 (mean +- standard deviation, at each run's "
            "best validation epoch)\n");
}

TEST(TrainRepeat, RefusesFilesOfOneRun) {
  const auto train = [](const TrainOptions&, const RunHooks&) { return RunResult(); };
  TrainOptions options = published_options("gcn");
  options.seeds = 2;
  options.export_file = "weights.safetensors";
  EXPECT_ERROR(train_repeated(options, train),
               "--export is for one run: not with --seeds and --splits. --log appends all runs to one file");
  options.export_file.clear();
  options.log = "log.jsonl";
  options.parallel = 2;
  EXPECT_ERROR(train_repeated(options, train), "--log writes one run after another: not with --parallel 2");
  options.log.clear();
  options.all_splits = true;
  options.split = "60/20/20";
  EXPECT_ERROR(train_repeated(options, train),
               "--splits all trains on all splits of the file, and --split 60/20/20 is given, on the command "
               "line or in a file: leave one of them out");
}

TEST(TrainRepeat, ParallelRunsPrintTheLinesOfOneAfterAnother) {
  std::string text[2];
  std::atomic<int> now = 0, most = 0;
  for (const int parallel : {1, 4}) {
    testing::internal::CaptureStdout();
    train_repeated(several(9, parallel), [&](const TrainOptions& one, const RunHooks& hooks) {
      most = std::max(most.load(), ++now);
      hooks.epoch(1);
      hooks.epoch(2);
      if (parallel > 1)  // until others run beside it
        for (int i = 0; i < 2000 && most < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --now;
      RunResult result;
      result.summary.best.test = 0.1 * static_cast<double>(one.seed);
      result.line = str("test of ", one.seed);
      return result;
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
  train_repeated(several(2, 2), [&](const TrainOptions& one, const RunHooks& hooks) {
    if (one.seed == 1) {
      second = true;
      return RunResult();
    }
    hooks.epoch(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    alone = !second;
    hooks.epoch(2);
    return RunResult();
  });
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(alone);
}

TEST(TrainRepeat, AFaultEndsTheOtherRuns) {
  std::atomic<int> begun = 0;
  testing::internal::CaptureStdout();
  EXPECT_ERROR(train_repeated(several(50, 3),
                              [&](const TrainOptions& one, const RunHooks& hooks) -> RunResult {
                                ++begun;
                                hooks.epoch(2);
                                if (one.seed == 1) fail("of run 1");
                                while (!hooks.stop()) std::this_thread::yield();
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
  train_repeated(options, [&](const TrainOptions& one, const RunHooks&) {
    EXPECT_FALSE(is_repeated(one));
    runs.emplace_back(one.seed, one.fold);
    return RunResult{{}, "done"};
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout().substr(0, 48),
            "seed 0    fold 0   done\nseed 0    fold 1   done\n");
  EXPECT_EQ(runs, (std::vector<std::pair<std::uint64_t, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
}

}  // namespace
}  // namespace rodeo::test
