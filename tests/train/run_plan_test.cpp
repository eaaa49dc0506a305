#include "train/task/run_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/devices.h"
#include "tests/train/tier_options.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

/// A file of 1,000 nodes with 5,000 edges and 100 dense features.
DataHeader file() {
  DataHeader out{.where = "x.h5", .in_file = true};
  out.nodes = 1000, out.edges = 5000, out.features = 100;
  out.form = FeatureForm::kDense;
  out.labels = LabelKind::kClasses;
  out.edge_list = true;
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
  EXPECT_TRUE(plan.edges == EdgeRead::kExchanged);
  EXPECT_EQ(plan.tiers[0].read, FeatureRead::kOwnRows);
  EXPECT_EQ(plan.builds_on(), kCpu);
  EXPECT_EQ(describe(plan),
            "2 ranks, a range of the nodes each; read a part of the edges and the rank's rows of features; "
            "build the graph on cpu, with self loops and D^-1/2; features dense or sparse, by a sample");

  DataHeader sparse = file();
  sparse.form = FeatureForm::kSparse;
  sparse.entries = 1000;
  EXPECT_EQ(plan_run(of, sparse, kPlenty, 2).tiers[0].read, FeatureRead::kWithDataset);
  EXPECT_TRUE(plan_run(of, sparse, kPlenty, 2).edges == EdgeRead::kExchanged);

  for (const bool in_memory : {true, false}) {
    DataHeader data = file();
    TrainOptions whole = of;
    data.in_file = !in_memory;
    if (!in_memory) whole.reorder = NodeOrder::kRcm;
    const RunPlan other = plan_run(whole, data, kPlenty, 2);
    EXPECT_TRUE(other.partitioned);
    EXPECT_FALSE(other.edges == EdgeRead::kExchanged);
    EXPECT_EQ(other.tiers[0].read, FeatureRead::kWithDataset);
  }
}

TEST(TrainRunPlan, BatchesOverRanksHaveTheWholeGraphAndOneTier) {
  const RunPlan one = plan_run(tier_options(), file(), kPlenty),
                two = plan_run(tier_options(), file(), kPlenty, 2);
  EXPECT_GT(one.tiers.size(), 1u);
  EXPECT_EQ(two.tiers.size(), 1u);
  EXPECT_FALSE(two.partitioned);
  EXPECT_EQ(two.form, FeatureForm::kDense);
  EXPECT_EQ(one.tiers[0].read, FeatureRead::kWithDataset);
  EXPECT_EQ(one.tiers[1].read, FeatureRead::kInPieces) << "the file is read again";
  EXPECT_EQ(two.tiers[0].read, FeatureRead::kInPieces) << "by all ranks";
  EXPECT_TRUE(describe(two).starts_with(
      "2 ranks, the whole graph each; read a part of the edges and a part of the features; "))
      << describe(two);
  EXPECT_TRUE(describe(one).ends_with(
      "; if memory does not suffice: graph host and features device, graph device and features host, graph "
      "host and features host, graph device and features disk, graph host and features disk"))
      << describe(one);

  const RunPlan disk = plan_run(tier_options(FeaturesOn::kDisk, GraphOn::kHost), file(), kPlenty);
  EXPECT_EQ(disk.reads_to(), kCpu);
  EXPECT_TRUE(describe(disk).starts_with("read all edges and those features that a batch needs; "))
      << describe(disk);
}

// Each rank reads all edges where it reads more of them than ids and weights, or rows of a CSR.
TEST(TrainRunPlan, BatchesOverRanksReadAPartOfTheEdges) {
  const auto reads_parts = [](const TrainOptions& of, const DataHeader& data, int ranks = 2) {
    return plan_run(of, data, kPlenty, ranks).edges == EdgeRead::kOfHost;
  };
  TrainOptions of = tier_options();
  EXPECT_TRUE(reads_parts(of, file()));
  EXPECT_FALSE(reads_parts(of, file(), 1));
  DataHeader data = file();
  data.edge_list = false;
  EXPECT_FALSE(reads_parts(of, data));
  data = file();
  data.in_file = false;
  EXPECT_FALSE(reads_parts(of, data));
  of.reorder = NodeOrder::kRabbit;
  EXPECT_TRUE(reads_parts(of, file()));
  EXPECT_EQ(plan_run(of, file(), kPlenty, 2).tiers[0].read, FeatureRead::kWithDataset);
  of.task = TaskKind::kLink;
  EXPECT_FALSE(reads_parts(of, file()));
}

TEST(TrainRunPlan, RanksReadThePartsOfAGraphThatIsCut) {
  const RunPlan plan = plan_run(tier_options(FeaturesOn::kPeers, GraphOn::kPeers), file(), kPlenty, 2);
  EXPECT_TRUE(plan.cuts_graph());
  EXPECT_FALSE(plan.partitioned);
  EXPECT_EQ(plan.edges, EdgeRead::kExchanged);
  EXPECT_EQ(plan.builds_on(), kCpu);
  EXPECT_TRUE(describe(plan).starts_with(
      "2 ranks, a part of the graph each; read a part of the edges and the rank's rows of features; "))
      << describe(plan);
  TrainOptions of = tier_options(FeaturesOn::kAuto, GraphOn::kPeers);
  of.reorder = NodeOrder::kRcm;
  EXPECT_EQ(plan_run(of, file(), kPlenty, 2).edges, EdgeRead::kOfHost);
}

TEST(TrainRunPlan, WhatAGraphThatIsCutDoesNotTrain) {
  const auto error = [](const std::function<void(TrainOptions&, DataHeader&)>& set, int ranks = 2) {
    TrainOptions of = tier_options(FeaturesOn::kAuto, GraphOn::kPeers);
    DataHeader data = file();
    set(of, data);
    return error_of([&] { plan_run(of, data, kPlenty, ranks); });
  };
  EXPECT_EQ(error([](TrainOptions&, DataHeader&) {}, 1),
            "--graph-on peers cuts the edges among several ranks, and this is one: start more with --gpus or "
            "--ranks, or give --graph-on device");
  EXPECT_EQ(error([](TrainOptions& o, DataHeader&) { o.batch_by_parts = true; }),
            "--graph-on peers is not for --batch-by parts, which have all edges between their nodes: give "
            "--graph-on device or host");
  EXPECT_EQ(error([](TrainOptions& o, DataHeader& data) { o.edge_features = true, data.edge_features = 2; }),
            "--graph-on peers is not for --edge-features, which are not sent with the edges: give --graph-on "
            "device or host");
  EXPECT_EQ(
      error([](TrainOptions& o, DataHeader& data) { o.model = "gcn", data.weighted = true; }),
      "--graph-on peers is not for --model gcn with edge weights, which are not sent with the edges: give "
      "--graph-on device or host");
  DataHeader weighted = file();
  weighted.weighted = true;  // sage reads no edge weights
  EXPECT_TRUE(plan_run(tier_options(FeaturesOn::kAuto, GraphOn::kPeers), weighted, kPlenty, 2).cuts_graph());
}

TEST(TrainRunPlan, PeersReadTheirRows) {
  const RunPlan plan = plan_run(tier_options(FeaturesOn::kPeers), file(), kPlenty, 2);
  EXPECT_TRUE(describe(plan).starts_with(
      "2 ranks, the whole graph each; read a part of the edges and the rank's rows of features; "))
      << describe(plan);
  EXPECT_ERROR(plan_run(tier_options(FeaturesOn::kPeers), file(), kPlenty),
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
  EXPECT_EQ(form("gcn", 0.199, Form::kSparse), Form::kSparse);
  EXPECT_EQ(form("gcn", 0.2, Form::kSparse), Form::kDense);
  EXPECT_EQ(form("gcn", -1, Form::kSparse), Form::kSparse);
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
  EXPECT_EQ(error(tier_options(FeaturesOn::kHost), data),
            "x.h5: --features-on host is for dense features, and those of the file are sparse");
}

}  // namespace
}  // namespace rodeo::test
