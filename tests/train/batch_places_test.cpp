#include "train/task/batch_places.h"

#include "datasets/dataset.h"
#include "datasets/feature_file.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TrainOptions options(FeaturesOn features = FeaturesOn::kAuto, GraphOn graph = GraphOn::kAuto) {
  TrainOptions out = published_options("sage");
  out.batch = 1024;
  out.features_on = features;
  out.graph_on = graph;
  return out;
}

std::vector<std::string> names(const std::vector<BatchPlaces>& places) {
  std::vector<std::string> out;
  for (const BatchPlaces& at : places)
    out.push_back(str(name(at.graph), " ", name(at.features), at.in_pieces ? " in pieces" : ""));
  return out;
}

using Names = std::vector<std::string>;

// A graph of 10 GiB, built in 30, with features of 40 GiB, converted in 80.
const BatchNeeds kNeeds{10 * kGiB, 30 * kGiB, 40 * kGiB, 80 * kGiB, kGiB};

Names chosen(std::int64_t device, std::int64_t host, const TrainOptions& of = options(),
             const std::string& not_on_disk = "") {
  return names(choose_places(of, kNeeds, {true, device * kGiB, host * kGiB, not_on_disk}));
}

TEST(TrainBatchPlaces, TheFastestPlacesWithRoomComeFirst) {
  EXPECT_EQ(chosen(200, 500),
            (Names{"device device", "host device", "device host", "host host", "device disk", "host disk"}));
  EXPECT_EQ(chosen(100, 500).front(), "device device in pieces") << "51 GiB of 100 stay, 91 are too much";
  EXPECT_EQ(chosen(80, 500).front(), "host device in pieces") << "51 GiB are more than 60 % of 80";
  EXPECT_EQ(chosen(60, 500), (Names{"device host", "host host", "device disk", "host disk"}));
  EXPECT_EQ(chosen(30, 500), (Names{"host host", "host disk"})) << "the device cannot build the graph";
  EXPECT_EQ(chosen(60, 48), (Names{"device disk", "host disk"})) << "40 GiB are more than 80 % of 48";
  EXPECT_EQ(chosen(30, 50), (Names{"host disk"}));
  EXPECT_EQ(chosen(1, 500).front(), "host host") << "as little as possible on the device";
  EXPECT_EQ(chosen(1, 20), (Names{"host disk"}));
}

TEST(TrainBatchPlaces, NamedPlacesAreTaken) {
  EXPECT_EQ(chosen(1, 1, options(FeaturesOn::kDevice, GraphOn::kDevice)), (Names{"device device in pieces"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kDisk)), (Names{"device disk", "host disk"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kAuto, GraphOn::kHost)),
            (Names{"host device", "host host", "host disk"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kHost, GraphOn::kHost)), (Names{"host host"}));
}

TEST(TrainBatchPlaces, FeaturesThatCannotStayOnDisk) {
  const std::string reason = "x.h5: /x is compressed";
  EXPECT_EQ(chosen(60, 500, options(), reason), (Names{"device host", "host host"}));
  EXPECT_EQ(chosen(60, 45, options(), reason), (Names{"host host"})) << "all that is left";
  EXPECT_ERROR(
      chosen(60, 30, options(), reason),
      "--features-on auto: the features take 40.00 GiB, and the host has 30.00 GiB free. They cannot "
      "stay on disk: x.h5: /x is compressed");
  EXPECT_ERROR(chosen(500, 500, options(FeaturesOn::kDisk), reason),
               "--features-on disk: x.h5: /x is compressed");
}

TEST(TrainBatchPlaces, WithoutAGpuAllIsInOneMemory) {
  const auto on_cpu = [](std::int64_t host, const TrainOptions& of = options()) {
    return names(choose_places(of, kNeeds, {false, host * kGiB, host * kGiB, ""}));
  };
  EXPECT_EQ(on_cpu(200), (Names{"device device", "device host", "device disk"}));
  EXPECT_EQ(on_cpu(100).front(), "device device in pieces");
  EXPECT_EQ(on_cpu(80), (Names{"device disk"}));
  EXPECT_EQ(on_cpu(200, options(FeaturesOn::kAuto, GraphOn::kHost)).front(), "device device");
}

// Of 600 GiB in a host, 150 are for each rank.
TEST(TrainBatchPlaces, RanksShareFeaturesInHostMemory) {
  const auto of_host = [](std::int64_t host, int ranks, bool cuda = true) {
    return choose_places(options(), kNeeds, {cuda, 60 * kGiB, host / ranks * kGiB, "", ranks}).front();
  };
  EXPECT_EQ(names({of_host(60, 1)}), (Names{"device host"}));
  EXPECT_EQ(names({of_host(60, 4)}), (Names{"device host"})) << "40 GiB once for four ranks, not 160";
  EXPECT_EQ(names({of_host(48, 4)}), (Names{"device disk"})) << "40 GiB are more than 80 % of 48";
  EXPECT_EQ(
      of_host(600, 4).text,
      "graph on the device, features in host memory (auto: they take 10.00 GiB and 40.00 GiB; the device "
      "has 60.00 GiB free, the host 150.00 GiB for each rank)");
}

TEST(TrainBatchPlaces, SaysWhyInOneLine) {
  const auto text = [](const TrainOptions& of, bool cuda) {
    return choose_places(of, kNeeds, {cuda, 60 * kGiB, 500 * kGiB, ""}).front().text;
  };
  EXPECT_EQ(
      text(options(), true),
      "graph on the device, features in host memory (auto: they take 10.00 GiB and 40.00 GiB; the device "
      "has 60.00 GiB free, the host 500.00 GiB)");
  EXPECT_EQ(text(options(FeaturesOn::kDisk, GraphOn::kHost), true),
            "graph in host memory, features in the file");
  EXPECT_EQ(text(options(FeaturesOn::kDevice, GraphOn::kDevice), true),
            "graph on the device, features on the device");
  EXPECT_EQ(text(options(FeaturesOn::kDisk), false), "graph in host memory, features in the file");
}

// The copy that normalising makes, and that of another dtype.
TEST(TrainBatchPlaces, NeedsCountWhatConvertingHolds) {
  const BatchGraph graph{.nodes = 1000, .edges = 5000, .features = 100};
  TrainOptions of = options();
  EXPECT_EQ(batch_needs(graph, of).features, 400'000);
  EXPECT_EQ(batch_needs(graph, of).features_building, 800'000);
  of.normalize_features = false;
  EXPECT_EQ(batch_needs(graph, of).features_building, 400'000);
  of.precision = Precision::kBf16;
  EXPECT_EQ(batch_needs(graph, of).features, 200'000);
  EXPECT_EQ(batch_needs(graph, of).features_building, 600'000);

  EXPECT_EQ(batch_needs(graph, of).graph, 8 * 1001 + 4 * 6000) << "row pointers, columns, self loops";
  EXPECT_EQ(batch_needs(graph, of).graph_building, 8 * 1001 + 4 * 6000 + 5000 * (8 + 16));
  of.undirected = true;
  EXPECT_EQ(batch_needs(graph, of).graph, 8 * 1001 + 4 * 11000);
  const std::int64_t layerwise = batch_needs(graph, of).beside;
  of.eval_sampled = true;
  EXPECT_EQ(layerwise - batch_needs(graph, of).beside, 2 * 1000 * of.hidden * 2);
}

TEST(TrainBatchPlaces, SizesAreThoseOfTheHeader) {
  const TempDir dir;
  const Dataset dataset = tiny_dataset();
  save_dataset(dataset, dir / "x.h5");
  const BatchGraph graph = read_batch_graph(dir / "x.h5");
  EXPECT_EQ(graph.nodes, dataset.num_nodes);
  EXPECT_EQ(graph.edges, dataset.num_edges());
  EXPECT_EQ(graph.features, dataset.num_features);
  EXPECT_FALSE(graph.weighted);
  EXPECT_EQ(graph.edge_features, 0);
}

}  // namespace
}  // namespace rodeo::test
