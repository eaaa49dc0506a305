#include "train/task/feature_scale.h"

#include "core/storage.h"
#include "datasets/synthetic.h"
#include "ops/dense_csr.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/commands/parse_options.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainFeatures : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainFeatures);

/// 300 nodes, 5 of 200 features a node at most.
Dataset bag_of_words() {
  SyntheticOptions size;
  size.nodes = 300;
  size.edges = 1200;
  size.features = 200;
  size.words = 5;
  size.classes = 4;
  size.train_per_class = 10;
  size.val = size.test = 50;
  return synthesize(size);
}

Dataset stored_sparse() {
  Dataset dataset = bag_of_words();
  const WeightedAdjacency entries = dense_to_csr(dataset.x);
  dataset.x_sparse = {entries.adj.csr().row_ptr, entries.adj.csr().col, entries.weight};
  dataset.x = {};
  return dataset;
}

struct Formed {
  TrainSummary summary;
  std::vector<double> losses;
  std::string features, algorithms;
};

Formed train(Dataset dataset, TrainOptions options, Device device, bool graph = true) {
  const NodeRun run = make_run(std::move(dataset), options, device);
  Trainer trainer = make_trainer(run, {.epochs = 12, .cuda_graph = graph});
  Formed out{{}, {}, run.task.features, run.model.algorithms};
  out.summary = trainer.fit([&](const EpochReport& report) { out.losses.push_back(report.loss); });
  return out;
}

/// The features that a run of this dataset in memory gets.
ChosenFeatures choose_features(Dataset& dataset, const TrainOptions& options, Device device) {
  DataHeader data = header_of(dataset);
  if (dataset.x.defined()) data.entries = sampled_density(dataset.x) * static_cast<double>(dataset.x.numel());
  return convert_features(dataset, {}, options, choose_form(options, data, device), device);
}

TrainOptions with(std::string_view model, FeatureForm form) {
  TrainOptions options = published_options(model);
  options.features = form;
  return options;
}

// Masks and sums are equal: losses differ in the last bits alone.
TEST_P(TrainFeatures, BothFormsTrainAlike) {
  for (const std::string_view model : {"gcn", "gat", "gatv2", "transformer", "sage", "appnp"}) {
    SCOPED_TRACE(model);
    const Formed dense = train(bag_of_words(), with(model, FeatureForm::kDense), device());
    for (const Formed& sparse : {train(bag_of_words(), with(model, FeatureForm::kSparse), device()),
                                 train(stored_sparse(), with(model, FeatureForm::kAuto), device())}) {
      EXPECT_TRUE(sparse.algorithms.ends_with(", features sparse")) << sparse.algorithms;
      ASSERT_EQ(sparse.losses.size(), dense.losses.size());
      for (std::size_t i = 0; i < dense.losses.size(); ++i)
        EXPECT_NEAR(sparse.losses[i], dense.losses[i], 2e-4) << i;
    }
  }
}

TEST_P(TrainFeatures, ACapturedEpochHasTheSameBits) {
  if (!device().is_cuda()) GTEST_SKIP() << "only CUDA has graphs to capture";
  for (const double input_dropout : {0.5, 0.0})
    for (const FeatureForm form : {FeatureForm::kDense, FeatureForm::kSparse}) {
      TrainOptions options = with("gcn", form);
      options.input_dropout = input_dropout;
      const Formed eager = train(bag_of_words(), options, device(), false);
      const Formed captured = train(bag_of_words(), options, device(), true);
      EXPECT_EQ(eager.losses, captured.losses);
      EXPECT_GT(captured.summary.kernels, 0);
    }
}

// The first layer without its sums over neighbours, forward and backward, and without the scaling around
// them.
TEST_P(TrainFeatures, PropagatedOnceAnEpochHasFewerKernels) {
  if (!device().is_cuda()) GTEST_SKIP() << "only CUDA counts kernels";
  TrainOptions options = with("gcn", FeatureForm::kDense);
  const Formed usual = train(bag_of_words(), options, device());
  options.input_dropout = 0;
  const Formed kept = train(bag_of_words(), options, device());
  EXPECT_LE(kept.summary.kernels, usual.summary.kernels - 3);  // two sums, and the dropout
}

// Losses, and evaluations of all nodes, are the same.
TEST_P(TrainFeatures, PrunedRowsTrainAlike) {
  TrainOptions options = with("gcn", FeatureForm::kAuto);
  const Formed whole = train(bag_of_words(), options, device());
  options.prune_rows = true;
  for (const bool graph : {true, false}) {
    const Formed pruned = train(bag_of_words(), options, device(), graph);
    EXPECT_NE(pruned.algorithms.find(", rows pruned"), std::string::npos);
    ASSERT_EQ(pruned.losses.size(), whole.losses.size());
    for (std::size_t i = 0; i < whole.losses.size(); ++i)
      EXPECT_NEAR(pruned.losses[i], whole.losses[i], 2e-4) << i;
    EXPECT_NEAR(pruned.summary.last.val_loss, whole.summary.last.val_loss, 2e-4);
  }
}

TEST_P(TrainFeatures, AutoCountsAndSaysWhatItTook) {
  const auto text = [&](Dataset dataset, const TrainOptions& options) {
    return choose_features(dataset, options, device()).text;
  };
  const TrainOptions gcn = with("gcn", FeatureForm::kAuto);
  EXPECT_TRUE(text(bag_of_words(), gcn).starts_with("sparse, 2.")) << text(bag_of_words(), gcn);
  EXPECT_TRUE(text(stored_sparse(), gcn).ends_with(" % of 300 x 200 are not zero"));
  EXPECT_EQ(text(stored_sparse(), with("gcn", FeatureForm::kDense)), "dense, 300 x 200");
  TrainOptions sage = with("sage", FeatureForm::kAuto);
  sage.aggr = Reduce::kMax;
  EXPECT_EQ(text(stored_sparse(), sage),
            "dense, 300 x 200: --aggr max compares features before the first product");
  // SGC keeps S^K X where that is less work than propagating in each epoch.
  TrainOptions sgc = with("sgc", FeatureForm::kAuto);
  sgc.hops = 1;
  EXPECT_TRUE(text(bag_of_words(), sgc).starts_with("sparse, 2.")) << text(bag_of_words(), sgc);
  sgc.hops = 30;
  EXPECT_EQ(text(bag_of_words(), sgc), "dense, 300 x 200");
  Dataset full = bag_of_words();
  full.x = random_tensor({300, 200}, DType::kF32, kCpu);
  EXPECT_EQ(text(full, gcn), "dense, 300 x 200");
}

// The edges that an epoch would propagate X W over count, also once the dataset has given them away.
TEST_P(TrainFeatures, ARunCountsTheEdgesForItsForm) {
  TrainOptions sgc = with("sgc", FeatureForm::kAuto);
  sgc.hops = 5;  // 8 (5 (1200 + 300) + 1500) > 300 x 200
  EXPECT_EQ(make_run(bag_of_words(), sgc, device()).task.features,
            "dense, 300 x 200; divided by row sums (auto: not negative, 97.5 % zeros)");
  EXPECT_EQ(make_run(stored_sparse(), sgc, device()).task.features,
            "dense, 300 x 200; divided by row sums (auto: not negative, 97.5 % zeros)");
}

// Sparse features of a file are never written out.
TEST_P(TrainFeatures, StoredSparseTheyStaySparse) {
  Dataset dataset = stored_sparse();
  dataset.num_features = 2000000;
  reset_peak_memory(device());
  const ChosenFeatures chosen = choose_features(dataset, with("gcn", FeatureForm::kAuto), device());
  EXPECT_EQ(chosen.x.shape(), (Shape{300, 2000000}));
  EXPECT_FALSE(dataset.has_features());
  EXPECT_LT(memory_stats(device()).peak, chosen.x.shape().numel() * 4 / 4);
}

TEST(TrainFeaturesErrors, WhatAModelCannotRead) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "x"});
    TrainOptions any;
    any.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), any);
  };
  EXPECT_EQ(parse({"--model", "gcn", "--features", "sparse"}).features, FeatureForm::kSparse);
  EXPECT_EQ(parse({"--model", "gin"}).features, FeatureForm::kAuto);
  for (const char* model : {"gin", "sgc"})
    EXPECT_EQ(parse({"--model", model, "--features", "sparse"}).features, FeatureForm::kSparse);
  EXPECT_ERROR(parse({"--model", "sage", "--aggr", "max", "--features", "sparse"}),
               "--features sparse: --aggr max compares features before the first product");
  EXPECT_ERROR(parse({"--model", "gcn", "--features", "csr"}),
               "--features must be auto, dense or sparse, got 'csr'");
  EXPECT_ERROR(parse({"--model", "gcn", "--input-dropout", "1"}),
               "--input-dropout must be a number in [0, 1), got '1'");
  EXPECT_EQ(parse({"--model", "gcn", "--dropout", "0.3"}).input_dropout, std::nullopt);
  EXPECT_EQ(parse({"--model", "gat", "--input-dropout", "0"}).input_dropout, 0);
  EXPECT_TRUE(parse({"--model", "gcn", "--prune-rows"}).prune_rows);
  EXPECT_ERROR(parse({"--model", "gin", "--prune-rows"}),
               "unknown option '--prune-rows' for the model gin: it is of gcn, gat, gatv2, transformer, "
               "sage, sgc, appnp, gcn2, pna and mlp");
  EXPECT_ERROR(parse({"--model", "gcn", "--prune-rows", "--layers", "1"}),
               "--prune-rows needs a layer before the last, got --layers 1");
}

}  // namespace
}  // namespace rodeo::test
