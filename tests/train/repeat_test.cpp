#include "train/commands/repeat.h"

#include <gtest/gtest.h>

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
  train_repeated(options, [&](const TrainOptions& one) {
    EXPECT_FALSE(is_repeated(one));
    seeds.push_back(one.seed);
    TrainSummary summary;
    summary.best.test = 0.5 + 0.1 * static_cast<double>(seeds.size());
    summary.best.val = 0.5;
    return summary;
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "test 0.7000 deviation 0.1000 val 0.5000 val_deviation 0.0000 runs 3\n");
  EXPECT_EQ(seeds, (std::vector<std::uint64_t>{5, 6, 7}));
}

TEST(TrainRepeat, RefusesFilesOfOneRun) {
  const auto train = [](const TrainOptions&) { return TrainSummary(); };
  TrainOptions options = published_options("gcn");
  options.seeds = 2;
  options.export_file = "weights.safetensors";
  EXPECT_ERROR(train_repeated(options, train),
               "--export is for one run: not with --seeds and --splits. --log appends all runs to one file");
  options.export_file.clear();
  options.all_splits = true;
  options.split = "60/20/20";
  EXPECT_ERROR(train_repeated(options, train), "--splits all and --split exclude each other");
}

}  // namespace
}  // namespace rodeo::test
