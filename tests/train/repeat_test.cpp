#include "train/commands/repeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/devices.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

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
  EXPECT_ERROR(train_repeated(options, train), "--splits all and --split exclude each other");
}

/// Options of `count` runs, `parallel` at a time.
TrainOptions several(int count, int parallel) {
  TrainOptions options = published_options("gcn");
  options.device = "cpu";
  options.seeds = count;
  options.parallel = parallel;
  return options;
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
