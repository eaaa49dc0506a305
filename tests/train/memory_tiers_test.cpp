// Where graph and features of mini-batches go.
#include "train/task/run_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/devices.h"
#include "tests/train/tier_options.h"

namespace rodeo::test {
namespace {

std::vector<std::string> names(const std::vector<MemoryTiers>& tiers) {
  std::vector<std::string> out;
  for (const MemoryTiers& at : tiers)
    out.push_back(str(name(at.graph), " ", name(at.features), at.in_pieces ? " in pieces" : ""));
  return out;
}

using Names = std::vector<std::string>;

// A graph of 10 GiB, built in 30, with features of 40 GiB, converted in 80.
const MemoryNeeds kNeeds{10 * kGiB, 30 * kGiB, 40 * kGiB, 80 * kGiB, kGiB};

Names chosen(std::int64_t device, std::int64_t host, const TrainOptions& of = tier_options(),
             const std::string& not_on_disk = "") {
  return names(choose_tiers(of, kNeeds, {kGpu, device * kGiB, host * kGiB}, not_on_disk));
}

TEST(TrainMemoryTiers, TheFastestTiersWithRoomComeFirst) {
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

TEST(TrainMemoryTiers, NamedTiersAreTaken) {
  EXPECT_EQ(chosen(1, 1, tier_options(FeaturesOn::kDevice, GraphOn::kDevice)),
            (Names{"device device in pieces"}));
  EXPECT_EQ(chosen(500, 500, tier_options(FeaturesOn::kDisk)), (Names{"device disk", "host disk"}));
  EXPECT_EQ(chosen(500, 500, tier_options(FeaturesOn::kAuto, GraphOn::kHost)),
            (Names{"host device", "host host", "host disk"}));
  EXPECT_EQ(chosen(500, 500, tier_options(FeaturesOn::kHost, GraphOn::kHost)), (Names{"host host"}));
}

// 10 GiB of the graph, 1 of `always` and 40 / ranks of the features are to fit 60 %.
TEST(TrainMemoryTiers, PeersHoldAPartOfTheFeatures) {
  const auto of_ranks = [](std::int64_t device, int ranks) {
    return choose_tiers(tier_options(FeaturesOn::kPeers), kNeeds,
                        {.device = kGpu, .on_device = device * kGiB, .on_host = 500 * kGiB, .ranks = ranks},
                        "");
  };
  EXPECT_EQ(names(of_ranks(53, 2)), (Names{"device peers", "host peers"}));
  EXPECT_EQ(names(of_ranks(51, 2)), (Names{"host peers"})) << "31 GiB are more than 60 % of 51";
  EXPECT_EQ(names(of_ranks(36, 4)), (Names{"device peers", "host peers"}));
  EXPECT_EQ(of_ranks(80, 4).front().text.substr(0, 71),
            "graph on the device, features cut among 4 ranks, 10.00 GiB each (auto: ");
}

// 40 GiB of features, with 10 of the graph in 60 % of the device: of 90 for one rank, of 53 for two.
TEST(TrainMemoryTiers, AutoCutsFeaturesAmongTheGpusOfAHost) {
  const auto of_ranks = [](std::int64_t device, int ranks, int of_host, Device on = kGpu) {
    const Room room{on, device * kGiB, 500 * kGiB, of_host, ranks};
    return names(choose_tiers(tier_options(), kNeeds, room, ""));
  };
  EXPECT_EQ(of_ranks(200, 2, 2).front(), "device device");
  EXPECT_EQ(of_ranks(80, 2, 2).front(), "host device in pieces");
  EXPECT_EQ(of_ranks(60, 2, 2),
            (Names{"device peers", "host peers", "device host", "host host", "device disk", "host disk"}));
  EXPECT_EQ(of_ranks(40, 2, 2).front(), "host peers") << "21 GiB are at most 60 % of 40, 31 are not";
  EXPECT_EQ(of_ranks(34, 2, 2).front(), "host host") << "a half of the features has no room";
  EXPECT_EQ(of_ranks(36, 4, 4).front(), "device peers") << "a quarter has";
  EXPECT_EQ(of_ranks(60, 1, 1).front(), "device host") << "no peers";
  EXPECT_EQ(of_ranks(60, 4, 2).front(), "device host") << "peers of other hosts are slower than its memory";
  EXPECT_EQ(of_ranks(60, 2, 2, kCpu).front(), "device host") << "ranks share the memory of their host";
}

TEST(TrainMemoryTiers, FeaturesThatCannotStayOnDisk) {
  const std::string reason = "x.h5: /x is compressed";
  EXPECT_EQ(chosen(60, 500, tier_options(), reason), (Names{"device host", "host host"}));
  EXPECT_EQ(chosen(60, 45, tier_options(), reason), (Names{"host host"})) << "all that is left";
  EXPECT_ERROR(
      chosen(60, 30, tier_options(), reason),
      "--features-on auto: the features take 40.00 GiB, and the host has 30.00 GiB free. They cannot "
      "stay on disk: x.h5: /x is compressed");
  EXPECT_ERROR(chosen(500, 500, tier_options(FeaturesOn::kDisk), reason),
               "--features-on disk: x.h5: /x is compressed");
}

TEST(TrainMemoryTiers, WithoutAGpuAllIsInOneMemory) {
  const auto on_cpu = [](std::int64_t host, const TrainOptions& of = tier_options()) {
    return names(choose_tiers(of, kNeeds, {kCpu, host * kGiB, host * kGiB}, ""));
  };
  EXPECT_EQ(on_cpu(200), (Names{"device device", "device host", "device disk"}));
  EXPECT_EQ(on_cpu(100).front(), "device device in pieces");
  EXPECT_EQ(on_cpu(80), (Names{"device disk"}));
  EXPECT_EQ(on_cpu(200, tier_options(FeaturesOn::kAuto, GraphOn::kHost)).front(), "device device");
}

// A host has 600 GiB: 150 for each of four ranks.
TEST(TrainMemoryTiers, RanksShareFeaturesInHostMemory) {
  const auto of_host = [](std::int64_t host, int ranks) {
    return choose_tiers(tier_options(), kNeeds, {kGpu, 60 * kGiB, host / ranks * kGiB, ranks}, "").front();
  };
  EXPECT_EQ(names({of_host(60, 1)}), (Names{"device host"}));
  EXPECT_EQ(names({of_host(60, 4)}), (Names{"device host"})) << "40 GiB once for four ranks, not 160";
  EXPECT_EQ(names({of_host(48, 4)}), (Names{"device disk"})) << "40 GiB are more than 80 % of 48";
  EXPECT_EQ(
      of_host(600, 4).text,
      "graph on the device, features in host memory (auto: they take 10.00 GiB and 40.00 GiB; the device "
      "has 60.00 GiB free, the host 150.00 GiB for each rank)");
}

TEST(TrainMemoryTiers, SaysWhyInOneLine) {
  const auto text = [](const TrainOptions& of, bool cuda) {
    return choose_tiers(of, kNeeds, {cuda ? kGpu : kCpu, 60 * kGiB, 500 * kGiB}, "").front().text;
  };
  EXPECT_EQ(
      text(tier_options(), true),
      "graph on the device, features in host memory (auto: they take 10.00 GiB and 40.00 GiB; the device "
      "has 60.00 GiB free, the host 500.00 GiB)");
  EXPECT_EQ(text(tier_options(FeaturesOn::kDisk, GraphOn::kHost), true),
            "graph in host memory, features in the file");
  EXPECT_EQ(text(tier_options(FeaturesOn::kDevice, GraphOn::kDevice), true),
            "graph on the device, features on the device");
  EXPECT_EQ(text(tier_options(FeaturesOn::kDisk), false), "graph in host memory, features in the file");
}

// The copy that normalising makes, and that of another dtype.
TEST(TrainMemoryTiers, NeedsCountWhatConvertingHolds) {
  DataHeader graph;
  graph.nodes = 1000, graph.edges = 5000, graph.features = 100;
  TrainOptions of = tier_options();
  EXPECT_EQ(memory_needs(graph, of).features, 400'000);
  EXPECT_EQ(memory_needs(graph, of).features_building, 800'000);
  of.normalize_features = FeatureScaling::kNone;
  EXPECT_EQ(memory_needs(graph, of).features_building, 400'000);
  of.precision = Precision::kBf16;
  EXPECT_EQ(memory_needs(graph, of).features, 200'000);
  EXPECT_EQ(memory_needs(graph, of).features_building, 600'000);

  EXPECT_EQ(memory_needs(graph, of).graph, 8 * 1001 + 4 * 6000) << "row pointers, columns, self loops";
  EXPECT_EQ(memory_needs(graph, of).graph_building, 8 * 1001 + 4 * 6000 + 5000 * (8 + 16));
  graph.weighted = true;
  EXPECT_EQ(memory_needs(graph, of).graph, 8 * 1001 + 8 * 6000);
  EXPECT_EQ(memory_needs(graph, of).graph_building, 8 * 1001 + 8 * 6000 + 5000 * (12 + 32));
  graph.weighted = false;
  of.undirected = true;
  EXPECT_EQ(memory_needs(graph, of).graph, 8 * 1001 + 4 * 11000);
  const std::int64_t layerwise = memory_needs(graph, of).always;
  of.eval_sampled = true;
  EXPECT_EQ(layerwise - memory_needs(graph, of).always, 2 * 1000 * of.hidden * 2);
}

// 10 GiB of the graph, of which 1 are row pointers that every rank has: 1 + 9 / ranks on the device.
TEST(TrainMemoryTiers, AGraphIsCutAmongRanksByName) {
  MemoryNeeds needs = kNeeds;
  needs.row_pointers = kGiB;
  const auto of_ranks = [&](std::int64_t device, FeaturesOn features, int ranks = 3, Device on = kGpu) {
    const Room room{on, device * kGiB, 500 * kGiB, ranks, ranks};
    return choose_tiers(tier_options(features, GraphOn::kPeers), needs, room, "");
  };
  EXPECT_EQ(names(of_ranks(77, FeaturesOn::kAuto)),
            (Names{"peers device in pieces", "peers peers", "peers host", "peers disk"}));
  EXPECT_EQ(names(of_ranks(74, FeaturesOn::kAuto)).front(), "peers peers") << "1 + 4 + 40 are more than 60 %";
  EXPECT_EQ(names(of_ranks(77, FeaturesOn::kAuto, 3, kCpu)).front(), "peers device in pieces");
  EXPECT_EQ(of_ranks(77, FeaturesOn::kDevice).front().text,
            "graph cut among 3 ranks, features on the device");
}

}  // namespace
}  // namespace rodeo::test
