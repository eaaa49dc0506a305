// What ranks read of a file: what all of them need is read once.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/rank_memory.h"
#include "datasets/feature_file.h"
#include "datasets/synthetic.h"
#include "tests/ranks/trained.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;

/// Bytes that this process has read from files, by calls of any kind.
std::int64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::int64_t value = 0;
  while (io >> name >> value)
    if (name == "rchar:") return value;
  return 0;
}

/// 4,000 nodes with 600 features, which are 9.6 MB of the file, and 200,000 edges, in compressed chunks of 1
/// MiB.
std::string make_file() {
  const std::string path = test::shared_path("reading.h5");
  if (ranks().rank() == 0) {
    SyntheticOptions graph;
    graph.nodes = 4000, graph.edges = 200'000, graph.features = 600, graph.classes = 5;
    graph.split = "60/20/20";
    save_dataset(synthesize(graph), path + ".packed");
    unpack_features(path + ".packed", path);
  }
  ranks().barrier();
  return path;
}

/// Bytes that all ranks read together.
double bytes_of_loading(const TrainOptions& options) {
  const std::int64_t before = bytes_read();
  const NodeRun run = load_run(options, test::device(), ranks());
  const Tensor read = Tensor::from(std::vector{static_cast<double>(bytes_read() - before)});
  ranks().all_reduce(read);
  return read.item();
}

TrainOptions options_of(const std::string& path, FeaturesOn on) {
  TrainOptions options = published_options("sage");
  options.dataset = path;
  options.epochs = 1, options.batch = 2000, options.fanout = "4,3";
  options.features_on = on;
  options.eval_sampled = true;
  return options;
}

TEST(TrainRankReading, BatchesReadAFileOnce) {
  if (ranks().size() == 1) GTEST_SKIP() << "one rank reads the whole file once, whatever the scaling";
  const std::string path = make_file();
  const int hosts = ranks_of_host(ranks()).hosts;
  const auto file = static_cast<double>(std::filesystem::file_size(path));
  // Labels, masks, and chunks that have edges of two ranks.
  const double by_each = 2 << 20, features = 9.6e6;
  for (const FeaturesOn on : {FeaturesOn::kDevice, FeaturesOn::kHost, FeaturesOn::kPeers}) {
    SCOPED_TRACE(name(on));
    TrainOptions options = options_of(path, on);
    options.normalize_features = FeatureScaling::kNone;
    const double bytes = bytes_of_loading(options);
    EXPECT_GT(bytes, 0.9 * file);
    EXPECT_LT(bytes, hosts * file + ranks().size() * by_each);
    options.normalize_features = FeatureScaling::kStandard;
    EXPECT_NEAR(bytes_of_loading(options), bytes + features, 0.1 * features) << "of one rank";
  }
}

// The reference reads the whole dataset on every rank.
TEST(TrainRankReading, PartsThatAreReadHaveTheBitsOfTheWhole) {
  const std::string path = make_file();
  const Dataset whole = load_dataset(path, {.need = Need::kTraining});
  for (const FeatureScaling scaling : {FeatureScaling::kNone, FeatureScaling::kStandard}) {
    TrainOptions options = options_of(path, FeaturesOn::kDevice);
    options.normalize_features = scaling;
    if (scaling == FeatureScaling::kStandard) options.precision = Precision::kBf16;
    const test::Trained want = test::train(whole, options, ranks());
    const test::Trained got = test::train(load_run(options, test::device(), ranks()), options, ranks());
    EXPECT_EQ(got.summary.last.val_loss, want.summary.last.val_loss);
    test::expect_same_bits(got.weights, want.weights);
  }
}

}  // namespace
}  // namespace rodeo
