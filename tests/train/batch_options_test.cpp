#include "tests/support/devices.h"
#include "train/commands/parse_options.h"

namespace rodeo::test {
namespace {

TrainOptions parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "x.h5", "--model", "sage"});
  TrainOptions any;
  any.choose_model = true;
  return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), any);
}

TEST(TrainBatchOptions, PlacesAreParsed) {
  EXPECT_EQ(parse({"--batch", "64"}).features_on, FeaturesOn::kAuto);
  EXPECT_EQ(parse({"--batch", "64", "--features-on", "disk"}).features_on, FeaturesOn::kDisk);
  EXPECT_EQ(parse({"--batch", "64", "--graph-on", "host"}).graph_on, GraphOn::kHost);
  EXPECT_EQ(parse({"--batch", "64", "--features-on", "disk", "--feature-cache", "8"}).feature_cache_mib, 8);
}

TEST(TrainBatchOptions, PlacesAreChecked) {
  EXPECT_ERROR(parse({"--batch", "64", "--features-on", "tape"}),
               "--features-on must be auto, device, host, disk or peers, got 'tape'");
  EXPECT_ERROR(parse({"--batch", "64", "--graph-on", "disk"}),
               "--graph-on must be auto, device, host or peers, got 'disk'");
  EXPECT_ERROR(parse({"--graph-on", "host"}), "--graph-on is for mini-batches: give --batch N too");
  EXPECT_ERROR(parse({"--features-on", "disk"}), "--features-on is for mini-batches: give --batch N too");
  EXPECT_ERROR(
      parse({"--batch", "64", "--features-on", "disk", "--reorder", "rcm"}),
      "--features-on disk reads rows in the order of the file: not with --reorder; rodeo_data reorder "
      "writes a file in another order");
  EXPECT_ERROR(
      parse({"--batch", "64", "--features-on", "device", "--feature-cache", "8"}),
      "--feature-cache is for features on the host, on disk or on peers, and --features-on device was given");
}

TEST(TrainBatchOptions, BatchNormNeedsTwoNodes) {
  EXPECT_ERROR(parse({"--batch", "1", "--norm", "batch"}),
               "--batch must be at least 2 for --norm batch: one node has no statistics; got 1");
  EXPECT_ERROR(
      parse({"--batch", "2", "--batch-by", "parts", "--model", "gin"}),
      "--batch must be at least 3 with --batch-by parts for gin, whose layers have batch normalisation: "
      "one node has no statistics; got 2");
  EXPECT_EQ(parse({"--batch", "1", "--norm", "layer"}).batch, 1);
  EXPECT_EQ(parse({"--batch", "2", "--norm", "batch"}).batch, 2);
}

}  // namespace
}  // namespace rodeo::test
