#include "train/task/run_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/devices.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr Device kGpu{Device::Type::kCuda, 0};

TrainOptions options(FeaturesOn features = FeaturesOn::kAuto, GraphOn graph = GraphOn::kAuto) {
  TrainOptions out = published_options("sage");
  out.batch = 1024;
  out.features_on = features;
  out.graph_on = graph;
  return out;
}

std::vector<std::string> names(const std::vector<MemoryTiers>& tiers) {
  std::vector<std::string> out;
  for (const MemoryTiers& at : tiers)
    out.push_back(str(name(at.graph), " ", name(at.features), at.in_pieces ? " in pieces" : ""));
  return out;
}

using Names = std::vector<std::string>;

// A graph of 10 GiB, built in 30, with features of 40 GiB, converted in 80.
const MemoryNeeds kNeeds{10 * kGiB, 30 * kGiB, 40 * kGiB, 80 * kGiB, kGiB};

Names chosen(std::int64_t device, std::int64_t host, const TrainOptions& of = options(),
             const std::string& not_on_disk = "") {
  return names(choose_tiers(of, kNeeds, {kGpu, device * kGiB, host * kGiB}, not_on_disk));
}

TEST(TrainRunPlan, TheFastestTiersWithRoomComeFirst) {
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

TEST(TrainRunPlan, NamedTiersAreTaken) {
  EXPECT_EQ(chosen(1, 1, options(FeaturesOn::kDevice, GraphOn::kDevice)), (Names{"device device in pieces"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kDisk)), (Names{"device disk", "host disk"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kAuto, GraphOn::kHost)),
            (Names{"host device", "host host", "host disk"}));
  EXPECT_EQ(chosen(500, 500, options(FeaturesOn::kHost, GraphOn::kHost)), (Names{"host host"}));
}

// 10 GiB of the graph, 1 of `always` and 40 / ranks of the features are to fit 60 %.
TEST(TrainRunPlan, PeersHoldAPartOfTheFeatures) {
  const auto of_ranks = [](std::int64_t device, int ranks) {
    return choose_tiers(options(FeaturesOn::kPeers), kNeeds,
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
TEST(TrainRunPlan, AutoCutsFeaturesAmongTheGpusOfAHost) {
  const auto of_ranks = [](std::int64_t device, int ranks, int of_host, Device on = kGpu) {
    const Room room{on, device * kGiB, 500 * kGiB, of_host, ranks};
    return names(choose_tiers(options(), kNeeds, room, ""));
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

TEST(TrainRunPlan, FeaturesThatCannotStayOnDisk) {
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

TEST(TrainRunPlan, WithoutAGpuAllIsInOneMemory) {
  const auto on_cpu = [](std::int64_t host, const TrainOptions& of = options()) {
    return names(choose_tiers(of, kNeeds, {kCpu, host * kGiB, host * kGiB}, ""));
  };
  EXPECT_EQ(on_cpu(200), (Names{"device device", "device host", "device disk"}));
  EXPECT_EQ(on_cpu(100).front(), "device device in pieces");
  EXPECT_EQ(on_cpu(80), (Names{"device disk"}));
  EXPECT_EQ(on_cpu(200, options(FeaturesOn::kAuto, GraphOn::kHost)).front(), "device device");
}

// A host has 600 GiB: 150 for each of four ranks.
TEST(TrainRunPlan, RanksShareFeaturesInHostMemory) {
  const auto of_host = [](std::int64_t host, int ranks) {
    return choose_tiers(options(), kNeeds, {kGpu, 60 * kGiB, host / ranks * kGiB, ranks}, "").front();
  };
  EXPECT_EQ(names({of_host(60, 1)}), (Names{"device host"}));
  EXPECT_EQ(names({of_host(60, 4)}), (Names{"device host"})) << "40 GiB once for four ranks, not 160";
  EXPECT_EQ(names({of_host(48, 4)}), (Names{"device disk"})) << "40 GiB are more than 80 % of 48";
  EXPECT_EQ(
      of_host(600, 4).text,
      "graph on the device, features in host memory (auto: they take 10.00 GiB and 40.00 GiB; the device "
      "has 60.00 GiB free, the host 150.00 GiB for each rank)");
}

TEST(TrainRunPlan, SaysWhyInOneLine) {
  const auto text = [](const TrainOptions& of, bool cuda) {
    return choose_tiers(of, kNeeds, {cuda ? kGpu : kCpu, 60 * kGiB, 500 * kGiB}, "").front().text;
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
TEST(TrainRunPlan, NeedsCountWhatConvertingHolds) {
  DataHeader graph;
  graph.nodes = 1000, graph.edges = 5000, graph.features = 100;
  TrainOptions of = options();
  EXPECT_EQ(memory_needs(graph, of).features, 400'000);
  EXPECT_EQ(memory_needs(graph, of).features_building, 800'000);
  of.normalize_features = FeatureScaling::kNone;
  EXPECT_EQ(memory_needs(graph, of).features_building, 400'000);
  of.precision = Precision::kBf16;
  EXPECT_EQ(memory_needs(graph, of).features, 200'000);
  EXPECT_EQ(memory_needs(graph, of).features_building, 600'000);

  EXPECT_EQ(memory_needs(graph, of).graph, 8 * 1001 + 4 * 6000) << "row pointers, columns, self loops";
  EXPECT_EQ(memory_needs(graph, of).graph_building, 8 * 1001 + 4 * 6000 + 5000 * (8 + 16));
  of.undirected = true;
  EXPECT_EQ(memory_needs(graph, of).graph, 8 * 1001 + 4 * 11000);
  const std::int64_t layerwise = memory_needs(graph, of).always;
  of.eval_sampled = true;
  EXPECT_EQ(layerwise - memory_needs(graph, of).always, 2 * 1000 * of.hidden * 2);
}

/// A file of 1,000 nodes with 5,000 edges and 100 dense features.
DataHeader file() {
  DataHeader out{.where = "x.h5", .in_file = true};
  out.nodes = 1000, out.edges = 5000, out.features = 100;
  out.form = FeatureForm::kDense;
  out.labels = LabelKind::kClasses;
  return out;
}

const Room kPlenty{kGpu, 100 * kGiB, 100 * kGiB};

TEST(TrainRunPlan, AWholeGraphIsReadToTheDevice) {
  const RunPlan plan = plan_run(published_options("gcn"), file(), kPlenty);
  EXPECT_FALSE(plan.partitioned);
  EXPECT_EQ(plan.graph, GraphInput::kGcnNorm);
  EXPECT_EQ(plan.reads_to(), kGpu);
  EXPECT_EQ(plan.builds_on(), kGpu);
  ASSERT_EQ(plan.tiers.size(), 1u);
  EXPECT_EQ(plan.tiers[0].text, "");
  EXPECT_EQ(
      describe(plan),
      "read all edges and all features; build the graph on cuda:0, with self loops and D^-1/2; features "
      "dense or sparse, by a sample");
}

TEST(TrainRunPlan, ANewOrderIsMadeOnTheHost) {
  TrainOptions of = published_options("gat");
  of.reorder = NodeOrder::kRabbit;
  of.undirected = true;
  of.features = FeatureForm::kDense;
  const RunPlan plan = plan_run(of, file(), kPlenty);
  EXPECT_EQ(plan.reads_to(), kCpu);
  EXPECT_EQ(plan.builds_on(), kGpu);
  EXPECT_EQ(describe(plan),
            "read all edges and all features; nodes in rabbit order; build the graph on cuda:0, with reverse "
            "edges, with self loops; features dense");
}

TEST(TrainRunPlan, RanksReadTheirPartOfAFile) {
  const TrainOptions of = published_options("gcn");
  const RunPlan plan = plan_run(of, file(), kPlenty, 2);
  EXPECT_TRUE(plan.partitioned);
  EXPECT_TRUE(plan.reads_edge_parts);
  EXPECT_EQ(plan.tiers[0].read, FeatureRead::kOwnRows);
  EXPECT_EQ(plan.builds_on(), kCpu);
  EXPECT_EQ(describe(plan),
            "2 ranks, a range of the nodes each; read a part of the edges and the rank's rows of features; "
            "build the graph on cpu, with self loops and D^-1/2; features dense or sparse, by a sample");

  DataHeader sparse = file();
  sparse.form = FeatureForm::kSparse;
  sparse.entries = 1000;
  EXPECT_EQ(plan_run(of, sparse, kPlenty, 2).tiers[0].read, FeatureRead::kWithDataset);
  EXPECT_TRUE(plan_run(of, sparse, kPlenty, 2).reads_edge_parts);

  for (const bool in_memory : {true, false}) {
    DataHeader data = file();
    TrainOptions whole = of;
    data.in_file = !in_memory;
    if (!in_memory) whole.reorder = NodeOrder::kRcm;
    const RunPlan other = plan_run(whole, data, kPlenty, 2);
    EXPECT_TRUE(other.partitioned);
    EXPECT_FALSE(other.reads_edge_parts);
    EXPECT_EQ(other.tiers[0].read, FeatureRead::kWithDataset);
  }
}

TEST(TrainRunPlan, BatchesOverRanksHaveTheWholeGraphAndOneTier) {
  const RunPlan one = plan_run(options(), file(), kPlenty), two = plan_run(options(), file(), kPlenty, 2);
  EXPECT_GT(one.tiers.size(), 1u);
  EXPECT_EQ(two.tiers.size(), 1u);
  EXPECT_FALSE(two.partitioned);
  EXPECT_EQ(two.form, FeatureForm::kDense);
  EXPECT_EQ(one.tiers[0].read, FeatureRead::kWithDataset);
  EXPECT_EQ(one.tiers[1].read, FeatureRead::kInPieces) << "the file is read again";
  EXPECT_TRUE(describe(two).starts_with("2 ranks, the whole graph each; read all edges and all features; "))
      << describe(two);
  EXPECT_TRUE(describe(one).ends_with(
      "; if memory does not suffice: graph host and features device, graph device and features host, graph "
      "host and features host, graph device and features disk, graph host and features disk"))
      << describe(one);

  const RunPlan disk = plan_run(options(FeaturesOn::kDisk, GraphOn::kHost), file(), kPlenty);
  EXPECT_EQ(disk.reads_to(), kCpu);
  EXPECT_TRUE(describe(disk).starts_with("read all edges and those features that a batch needs; "))
      << describe(disk);
}

TEST(TrainRunPlan, PeersReadTheirRows) {
  const RunPlan plan = plan_run(options(FeaturesOn::kPeers), file(), kPlenty, 2);
  EXPECT_TRUE(describe(plan).starts_with(
      "2 ranks, the whole graph each; read all edges and the rank's rows of features; "))
      << describe(plan);
  EXPECT_ERROR(plan_run(options(FeaturesOn::kPeers), file(), kPlenty),
               "--features-on peers cuts the features among several ranks, and this is one: start more with "
               "--gpus or --ranks, or give --features-on device");
}

// A GCN that sums 100 columns before it multiplies them. They and their dropout take 800,000 bytes.
TEST(TrainRunPlan, RanksShareFeaturesThatTheFirstLayerSums) {
  Room room = kPlenty;
  room.total_on_device = 6'400'000;
  const auto shares = [&](const std::function<void(TrainOptions&)>& set, int ranks = 2) {
    TrainOptions of = published_options("gcn");
    of.hidden = 51;
    set(of);
    return plan_run(of, file(), room, ranks).shares_features;
  };
  EXPECT_TRUE(shares([](TrainOptions&) {}));
  EXPECT_TRUE(shares([](TrainOptions& o) { o.dropout = 0, o.input_dropout = 0.5; }));
  EXPECT_FALSE(shares([](TrainOptions&) {}, 1));
  EXPECT_FALSE(shares([](TrainOptions& o) { o.hidden = 50; })) << "multiplies first";
  EXPECT_FALSE(shares([](TrainOptions& o) { o.dropout = 0; })) << "keeps the sum";
  EXPECT_FALSE(shares([](TrainOptions& o) { o.layers = 1; }));
  EXPECT_FALSE(shares([](TrainOptions& o) { o.trunk.residual = true; }));
  EXPECT_FALSE(shares([](TrainOptions& o) { o.aggregation = Aggregation::kRows; }));
  EXPECT_FALSE(shares([](TrainOptions& o) { o.batch = 64; }));
  EXPECT_FALSE(shares([](TrainOptions& o) { o.model = "sage"; }));
  room.total_on_device -= 1;
  EXPECT_FALSE(shares([](TrainOptions&) {})) << "more than an eighth of the device";
  room.total_on_device += 1;
  TrainOptions of = published_options("gcn");
  of.hidden = 51;
  EXPECT_NE(describe(plan_run(of, file(), room, 2))
                .find("features dense or sparse, by a sample; dense ones of all nodes on each rank"),
            std::string::npos);
  of.features = FeatureForm::kDense;
  EXPECT_NE(describe(plan_run(of, file(), room, 2)).find("; features dense, of all nodes on each rank"),
            std::string::npos);
}

TEST(TrainRunPlan, TheFormOfFeatures) {
  const auto form = [](const char* model, double density, FeatureForm stored, std::int64_t edges = 5000) {
    DataHeader data = file();
    data.form = stored;
    data.edges = edges;
    data.entries = density < 0 ? -1 : density * 1000 * 100;
    return plan_run(published_options(model), data, kPlenty).form;
  };
  using Form = FeatureForm;
  EXPECT_EQ(form("gcn", -1, Form::kDense), Form::kAuto);
  EXPECT_EQ(form("gcn", 0.119, Form::kDense), Form::kSparse);
  EXPECT_EQ(form("gcn", 0.121, Form::kDense), Form::kDense);
  EXPECT_EQ(form("gcn", 0.5, Form::kSparse), Form::kSparse);
  EXPECT_EQ(form("sgc", 0.001, Form::kSparse, 1000), Form::kSparse) << "8 (2 (1000 + 1000) + 100) < 100,000";
  EXPECT_EQ(form("sgc", 0.001, Form::kSparse, 6000), Form::kDense) << "propagating each epoch costs more";
  EXPECT_EQ(form("sgc", -1, Form::kDense), Form::kAuto);
}

TEST(TrainRunPlan, RefusesWhatTheDataHaveNot) {
  const auto error = [](const TrainOptions& of, const DataHeader& data) {
    return error_of([&] { plan_run(of, data, kPlenty); });
  };
  TrainOptions of = published_options("gatv2");
  of.edge_features = true;
  EXPECT_EQ(error(of, file()), "x.h5: has no /edge_attr, which --edge-features reads");
  of = published_options("gcn");
  of.per_class = true;
  DataHeader data = file();
  data.labels = LabelKind::kTargets;
  EXPECT_EQ(error(of, data), "--per-class is for classes, and the labels of x.h5 are numbers");
  data = DataHeader{.where = "cora-like"};
  data.form = FeatureForm::kAuto;
  EXPECT_EQ(error(published_options("gcn"), data),
            "cora-like: has no features, and training needs them. --input-features degree, onehot, random or "
            "ones makes some");
  data = file();
  data.form = FeatureForm::kDense;
  data.features = 0;
  for (const TaskKind task : {TaskKind::kLink, TaskKind::kGraph}) {
    TrainOptions none = published_options("gcn");
    none.task = task;
    EXPECT_EQ(error(none, data),
              "x.h5: /x must have at least one feature. --input-features degree, onehot, random or ones "
              "makes some");
  }
  data = file();
  data.form = FeatureForm::kSparse;
  EXPECT_EQ(error(options(FeaturesOn::kHost), data),
            "x.h5: --features-on host is for dense features, and those of the file are sparse");
}

}  // namespace
}  // namespace rodeo::test
