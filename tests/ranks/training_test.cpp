// Full-graph training over ranks against one rank: the same losses, metrics and weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/kernel_observer.h"
#include "tests/ranks/ranks.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

using test::ranks;

struct TrainedModel {
  std::vector<double> losses;
  TrainSummary summary;
  std::vector<float> weights;
};

TrainedModel train_model(Dataset data, const TrainOptions& options, const Communicator& over) {
  const NodeRun run = make_run(std::move(data), options, test::device(), over);
  TrainedModel out;
  Trainer trainer = make_trainer(run, trainer_options(options));
  out.summary = trainer.fit([&](const EpochReport& report) { out.losses.push_back(report.loss); });
  for (const Variable& parameter : run.model.module->parameters())
    for (const float value : parameter.value().to_vector<float>()) out.weights.push_back(value);
  return out;
}

TrainOptions model_options(std::string_view model) {
  TrainOptions options = published_options(model);
  options.layers = std::min(options.layers, 4);  // of GCNII's 64
  options.epochs = 6;                            // on a GPU the last two replay a CUDA graph
  options.lr = 0.001;
  options.dropout = options.attention_dropout = 0.5;
  options.spmm = SpmmAlgorithm::kRode;
  return options;
}

void expect_as_on_one_rank(const Dataset& data, const TrainOptions& options, double tolerance = 1e-5) {
  const TrainedModel one = train_model(data, options, Communicator()),
                     all = train_model(data, options, ranks());
  ASSERT_EQ(one.losses.size(), all.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], tolerance * one.losses[i]) << "epoch " << i + 1;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss, tolerance * one.summary.last.val_loss);
  EXPECT_NEAR(all.summary.last.test, one.summary.last.test, 0.03);
  EXPECT_EQ(all.summary.epochs, one.summary.epochs);
  // All ranks have the same weights, to the bit.
  const Tensor own = Tensor::from(all.weights, test::device()), first = own.clone();
  ranks().broadcast(first);
  EXPECT_EQ(first.to_vector<float>(), all.weights);
}

Dataset small(std::int64_t nodes) {
  Dataset data;
  data.name = "ring";
  data.num_nodes = nodes, data.num_features = 3, data.num_classes = 2;
  std::vector<std::int64_t> src, dst, label, all;
  std::vector<float> x;
  for (std::int64_t i = 0; i < nodes; ++i) {
    src.push_back(i), dst.push_back((i + 1) % nodes), label.push_back(i % 2), all.push_back(i);
    for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>((i * 3 + k) % 5 + 1));
  }
  data.src = Tensor::from(src), data.dst = Tensor::from(dst), data.y = Tensor::from(label);
  data.x = Tensor::from(x, {nodes, 3});
  data.split = {Tensor::from(all).slice(0, 1), Tensor::from(all).slice(1, nodes), Tensor::from(all)};
  return data;
}

Tensor some_weights(std::int64_t edges) {
  std::vector<float> weight;
  for (std::int64_t e = 0; e < edges; ++e) weight.push_back(static_cast<float>(e % 7 + 1) / 4);
  return Tensor::from(weight);
}

TEST(TrainRanks, AllModelsWithDropout) {
  const Dataset data = test::tiny_dataset();
  for (const ModelEntry& entry : model_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = model_options(entry.name);
    if (entry.name == "appnp") options.edge_dropout = 0.3;
    expect_as_on_one_rank(data, options, 1e-4);
  }
}

TEST(TrainRanks, OptionsThatReachOperators) {
  const Dataset data = test::tiny_dataset();
  const auto with = [&](std::string_view model, const std::function<void(TrainOptions&)>& set) {
    TrainOptions options = model_options(model);
    set(options);
    expect_as_on_one_rank(data, options);
  };
  with("gcn", [](TrainOptions& o) { o.features = FeatureForm::kSparse; });
  with("gcn", [](TrainOptions& o) { o.clip_norm = 0.01; });
  with("gcn", [](TrainOptions& o) { o.reorder = NodeOrder::kDegree; });
  with("gcn", [](TrainOptions& o) { o.patience = 2, o.lr = 1, o.epochs = 20; });
  with("sage", [](TrainOptions& o) { o.aggr = Reduce::kMax, o.spmm = SpmmAlgorithm::kAuto; });
  with("sage", [](TrainOptions& o) { o.aggr = Reduce::kSum; });
  with("gat", [](TrainOptions& o) { o.attention = AttentionForm::kComposed; });
}

// The last layer computes the training nodes of each rank; some ranks have none.
TEST(TrainRanks, PrunedRows) {
  Dataset data = test::tiny_dataset();
  TrainOptions options = model_options("gcn");
  options.prune_rows = true;
  for (const Aggregation form : {Aggregation::kAuto, Aggregation::kHalo, Aggregation::kColumns}) {
    options.aggregation = form;
    expect_as_on_one_rank(data, options);
  }
  data.edge_weight = some_weights(data.src.numel());
  options.aggregation = Aggregation::kAuto;
  expect_as_on_one_rank(data, options);
  data.split.train = data.split.train.slice(0, 1);
  expect_as_on_one_rank(data, options);
}

// Masks of attention count the edges of a rank's selected rows: without them.
TEST(TrainRanks, PrunedRowsOfOtherModels) {
  for (const ModelEntry& entry : model_registry()) {
    if (entry.conv->traits.batch_norm) continue;
    SCOPED_TRACE(entry.name);
    TrainOptions options = model_options(entry.name);
    options.prune_rows = true;
    options.attention_dropout = 0;
    if (options.trunk.has_classifier()) options.dropout = 0;  // masks of the last layer's rows
    expect_as_on_one_rank(test::tiny_dataset(), options, 1e-4);
  }
}

// Every rank has the whole graph, and with it the features of all edges.
TEST(TrainRanks, EdgeFeaturesInBatches) {
  Dataset data = test::tiny_dataset();
  data.edge_attr = some_weights(3 * data.num_edges()).reshape({data.num_edges(), 3});
  TrainOptions options = model_options("gatv2");
  options.edge_features = true;
  options.batch = 64;
  options.dropout = options.attention_dropout = 0;  // masks count the rows of a rank's share
  expect_as_on_one_rank(data, options, 1e-4);
}

TEST(TrainRanks, EdgeWeightsAndEdgesOfOneDirection) {
  Dataset data = test::tiny_dataset();
  const std::int64_t edges = data.src.numel() / 2;
  data.src = data.src.slice(0, edges), data.dst = data.dst.slice(0, edges);
  for (const std::string_view model : {"gcn", "sage", "gat"})
    expect_as_on_one_rank(data, model_options(model));
  data.edge_weight = some_weights(edges);
  for (const std::string_view model : {"gcn", "sgc", "appnp"})
    for (const Aggregation form :
         {Aggregation::kAuto, Aggregation::kRows, Aggregation::kHalo, Aggregation::kColumns}) {
      SCOPED_TRACE(str(model, ", ", form));
      TrainOptions options = model_options(model);
      options.aggregation = form;
      expect_as_on_one_rank(data, options);
    }
}

TEST(TrainRanks, EveryForm) {
  const Dataset data = test::tiny_dataset();
  for (const ModelEntry& entry : model_registry())
    for (const Aggregation form : {Aggregation::kRows, Aggregation::kHalo, Aggregation::kColumns}) {
      SCOPED_TRACE(str(entry.name, ", ", form));
      TrainOptions options = model_options(entry.name);
      options.aggregation = form;
      const bool sums = entry.name != "gatv2" && entry.name != "transformer" && entry.name != "pna";
      if (form == Aggregation::kColumns && !sums) continue;
      expect_as_on_one_rank(data, options, 1e-4);
    }
}

/// Counts the collectives that send rows of features, forward, while it is registered.
class SentRows : public KernelObserver {
 public:
  explicit SentRows(std::int64_t columns) : columns_(columns), registered_(*this) {}
  void before(const KernelCallInfo&) override {}
  void after(const KernelCallInfo& call) override {
    count += call.category == KernelCategory::kCommunication && call.operands[0].shape().rank() == 2 &&
             call.operands[0].dim(1) == columns_;
  }
  int count = 0;

 private:
  std::int64_t columns_;
  ScopedKernelObserver registered_;
};

// Every rank draws the dropout of all features. 30 columns are summed before the product with [30, 16] in
// training, and with [30, 32] in evaluations, too.
TEST(TrainRanks, ConstantFeaturesAreNotExchanged) {
  RODEO_NEEDS_TWO_RANKS();
  for (const std::int64_t hidden : {15, 16, 32})
    for (const Precision precision : {Precision::kFp32, Precision::kBf16})
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(str(hidden, " ", name(precision), weighted ? " with edge weights" : ""));
        Dataset data = test::tiny_dataset();
        if (weighted) data.edge_weight = some_weights(data.num_edges());
        TrainOptions options = model_options("gcn");
        options.hidden = hidden, options.precision = precision;
        options.features = FeatureForm::kDense;
        const NodeRun run = make_run(data, options, test::device(), ranks());
        EXPECT_EQ(run.task.x.has_rows_of_all_ranks(), hidden > 15);
        EXPECT_EQ(run.task.features.ends_with("; of all nodes on each rank"), hidden > 15);
        {
          const SentRows sent(data.num_features);
          const TrainedModel all = train_model(data, options, ranks());
          EXPECT_EQ(sent.count, hidden > 15 ? 1 : 0) << "once, when they are loaded";
          options.aggregation = Aggregation::kRows;
          const TrainedModel rows = train_model(data, options, ranks());
          EXPECT_EQ(sent.count > 1, hidden > 15) << "as named, features are rows of the rank";
          EXPECT_EQ(all.losses, rows.losses);
          EXPECT_EQ(all.summary.last.val_loss, rows.summary.last.val_loss);
          EXPECT_EQ(all.weights, rows.weights);
        }
      }
}

TEST(TrainRanks, TrunksOfEveryConvolution) {
  const Dataset data = test::tiny_dataset();
  for (const std::string_view model : {"gcn", "gat", "gatv2", "transformer", "sage", "gin"})
    for (const TrunkNorm norm : {TrunkNorm::kBatch, TrunkNorm::kLayer})
      for (const TrunkJump jump : {TrunkJump::kNone, TrunkJump::kCat, TrunkJump::kMax}) {
        SCOPED_TRACE(str(model, ", ", name(norm), ", ", name(jump)));
        TrainOptions options = model_options(model);
        options.trunk.norm = norm, options.trunk.jump = jump;
        options.trunk.residual = options.trunk.post_linear = true;
        options.trunk.pre_linear = 1;
        expect_as_on_one_rank(data, options, 1e-4);
      }
}

TEST(TrainRanks, MetricsAndLossesOfClasses) {
  Dataset data = test::tiny_dataset();
  const auto with = [&](const std::function<void(TrainOptions&)>& set) {
    TrainOptions options = model_options("gcn");
    set(options);
    expect_as_on_one_rank(data, options);
  };
  with([](TrainOptions& o) { o.metric = NodeMetric::kMacroF1; });
  with([](TrainOptions& o) { o.metric = NodeMetric::kRocAuc; });
  with([](TrainOptions& o) { o.class_weights = "balanced"; });
  with([](TrainOptions& o) { o.label_smoothing = 0.1, o.metric = NodeMetric::kAp; });
  const Tensor label = Tensor::zeros({data.num_nodes, data.num_classes}, DType::kU8);
  for (std::int64_t i = 0; i < label.numel(); ++i)
    label.data<std::uint8_t>()[i] = i % 7 == 0 ? Dataset::kMissingLabel : i % 3 == 0;
  data.y = label;
  with([](TrainOptions&) {});
  with([](TrainOptions& o) { o.metric = NodeMetric::kRocAuc; });
}

TEST(TrainRanks, Regression) {
  Dataset data = test::tiny_dataset();
  data.num_classes = 2;
  std::vector<float> y;
  for (std::int64_t i = 0; i < 2 * data.num_nodes; ++i)
    y.push_back(i % 5 == 0 ? std::nanf("") : static_cast<float>(i % 11));
  data.y = Tensor::from(y, {data.num_nodes, 2});
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae}) {
    TrainOptions options = model_options("sage");
    options.loss = loss;
    expect_as_on_one_rank(data, options);
  }
}

TEST(TrainRanks, SeveralLabelsPerNode) {
  Dataset data = test::tiny_dataset();
  const Tensor label = Tensor::zeros({data.num_nodes, data.num_classes}, DType::kU8);
  for (std::int64_t i = 0; i < data.num_nodes; ++i) {
    label.data<std::uint8_t>()[i * data.num_classes + data.y.data<std::int64_t>()[i]] = 1;
    label.data<std::uint8_t>()[i * data.num_classes + i % data.num_classes] = 1;
  }
  data.y = label;
  expect_as_on_one_rank(data, model_options("gcn"));
}

TEST(TrainRanks, RanksWithoutNodesAndGraphsWithoutEdges) {
  for (const std::int64_t nodes : {2, 5, 9})
    for (const ModelEntry& entry : model_registry()) {
      SCOPED_TRACE(str(entry.name, ", ", nodes, " nodes"));
      Dataset data = small(nodes);
      expect_as_on_one_rank(data, model_options(entry.name), 1e-3);
      data.src = data.dst = Tensor::zeros({0}, DType::kI64);
      expect_as_on_one_rank(data, model_options(entry.name), 1e-3);
    }
}

// Means and deviations are of the training nodes of all ranks, with the same bits on each.
TEST(TrainRanks, StandardisedColumnsAreThoseOfOneRank) {
  Dataset data = test::tiny_dataset();
  data.x = test::random_tensor({data.num_nodes, 5}, DType::kF32, kCpu);
  data.num_features = 5;
  for (std::int64_t i = 0; i < data.num_nodes; ++i)
    data.x.data<float>()[5 * i] = 1000 + static_cast<float>(i);
  for (const std::int64_t batch : {0, 32}) {
    TrainOptions options = model_options("sage");
    options.batch = batch;
    const auto scale = [&](const Communicator& over) {
      const NodeRun run = make_run(data, options, test::device(), over);
      std::vector<float> out = run.task.feature_scale.columns.mean();
      for (const float d : run.task.feature_scale.columns.deviation()) out.push_back(d);
      return out;
    };
    const std::vector<float> one = scale(Communicator()), all = scale(ranks());
    ASSERT_EQ(all.size(), 10u);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], one[i], 1e-6 * (1 + std::abs(one[i])));
    const Tensor first = Tensor::from(all, test::device());
    ranks().broadcast(first);
    EXPECT_EQ(first.to_vector<float>(), all);
  }
  expect_as_on_one_rank(data, model_options("gcn"), 1e-4);
}

TEST(TrainRanks, TwentyRunsHaveTheSameBits) {
  const Dataset data = test::tiny_dataset();
  for (const std::string_view model : {"gcn", "gat"})
    for (const Aggregation form : {Aggregation::kRows, Aggregation::kColumns, Aggregation::kHalo}) {
      TrainOptions options = model_options(model);
      options.aggregation = form;
      SCOPED_TRACE(str(model, " ", name(form)));
      const TrainedModel first = train_model(data, options, ranks());
      for (int run = 1; run < 20; ++run) {
        const TrainedModel again = train_model(data, options, ranks());
        EXPECT_EQ(again.losses, first.losses) << run;
        EXPECT_EQ(again.weights, first.weights) << run;
      }
    }
}

// The edge features of the rank's edges, with means for added self loops.
TEST(TrainRanks, EdgeFeaturesAreAsOnOneRank) {
  RODEO_NEEDS_TWO_RANKS();
  Dataset data = test::tiny_dataset();
  data.edge_attr = test::random_tensor({data.num_edges(), 3}, DType::kF32, kCpu, 5);
  const std::string path = test::shared_path("edge_features.h5");
  if (ranks().rank() == 0) save_dataset(data, path);
  ranks().barrier();
  for (const char* model : {"gin", "gatv2", "transformer"}) {
    SCOPED_TRACE(model);
    TrainOptions options = model_options(model);
    options.edge_features = true;
    expect_as_on_one_rank(data, options, 1e-4);
    options.dataset = path;
    const NodeRun from_file = load_run(options, test::device(), ranks()),
                  in_memory = make_run(data, options, test::device(), ranks());
    EXPECT_TRUE(test::same_bits(from_file.model.forward().value(), in_memory.model.forward().value()));
  }
}

}  // namespace
}  // namespace rodeo
