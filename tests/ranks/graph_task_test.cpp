// --task graph over ranks: shares of a batch of graphs train as the whole batch does on one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"
#include "datasets/synthetic_graphs.h"
#include "ops/graph_batch.h"
#include "tests/ranks/trained.h"
#include "tests/support/steps.h"
#include "train/task/graph_steps.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;
using test::train;
using test::Trained;

TrainOptions options_of(std::string_view model, std::int64_t batch = 32) {
  TrainOptions options = published_options(model, TaskKind::kGraph);
  options.epochs = 4;
  options.layers = 2;
  options.lr = 0.001;
  options.batch_graphs = batch;
  options.fold = 0;
  return options;
}

Dataset graphs(std::int64_t count = 120) {
  return synthesize_graphs({.graphs = count});
}

/// Two targets of each graph, of which some are missing.
Dataset with_targets() {
  Dataset data = graphs();
  std::vector<float> y;
  for (std::int64_t i = 0; i < 2 * data.num_graphs(); ++i)
    y.push_back(i % 3 == 1 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i % 7));
  data.graph_label = Tensor::from(y, {data.num_graphs(), 2});
  data.num_classes = 2;
  data.class_names.clear();
  return data;
}

/// Gradients of the first batches, summed over ranks.
std::vector<Tensor> gradients(const Dataset& data, const TrainOptions& options, const Communicator& over) {
  const NodeRun run = make_run(data, options, test::device(), over);
  const Tensor done = Tensor::zeros({1}, DType::kI64, test::device());
  run.model.module->train();
  test::Steps steps(run);
  for (int i = 0; i < std::min<std::int64_t>(steps.size(), 2); ++i) {
    const RandomStep step(done.data<std::int64_t>());
    steps.part_of_loss().backward();
  }
  return test::summed_gradients(*run.model.module, over);
}

/// Biases before a batch normalisation have a gradient of rounding errors, which Adam makes as large as
/// others.
bool is_noise(const std::string& name) {
  return name.find("nn.0.bias") != std::string::npos || name.find("running_mean") != std::string::npos;
}

void expect_as_on_one_rank(const Dataset& data, const TrainOptions& options, double tolerance = 1e-4) {
  const std::vector<Tensor> expected = gradients(data, options, Communicator()),
                            got = gradients(data, options, ranks());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(test::near(got[i], test::doubles(expected[i]), 1e-3, 2e-5)) << "gradient " << i;
  const Trained one = train(data, options, Communicator()), all = train(data, options, ranks());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], tolerance * one.losses[i]) << "epoch " << i + 1;
  // Statistics of evaluations follow the biases that are noise.
  const double near = options.model == "gin" ? 0.01 : tolerance;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss, near * one.summary.last.val_loss);
  EXPECT_NEAR(all.summary.last.train, one.summary.last.train, 0.03);
  for (std::size_t i = 0; i < one.details.size(); ++i)
    EXPECT_NEAR(all.details[i].second, one.details[i].second, 0.001 + tolerance) << one.details[i].first;
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    const auto& [name, weight] = one.weights[i];
    if (is_noise(name)) continue;
    EXPECT_TRUE(test::near(all.weights[i].second, test::doubles(weight), 2e-3, 2e-3)) << name;
  }
  test::expect_same_on_all_ranks(all.weights);
}

// 96 training graphs. Batches of 2, 3 and 7 leave ranks without graphs.
TEST(TrainRankGraphs, SharesOfABatchTrainAsTheBatch) {
  for (const std::string_view model : {"gin", "gcn"})
    for (const std::int64_t batch : {32, 40, 1000, 7, 3, 2}) {
      SCOPED_TRACE(str(model, ", batches of ", batch));
      TrainOptions options = options_of(model, batch);
      if (batch < 10) options.epochs = 1;
      expect_as_on_one_rank(graphs(), options);
    }
}

TEST(TrainRankGraphs, EveryPoolAndOptionsThatReachBatches) {
  for (const PoolKind pool : {PoolKind::kMean, PoolKind::kMax, PoolKind::kAttention}) {
    SCOPED_TRACE(name(pool));
    TrainOptions options = options_of("gin");
    options.pool = pool;
    expect_as_on_one_rank(graphs(), options);
    options.batch_graphs = 3;  // of one rank
    options.epochs = 1;
    expect_as_on_one_rank(graphs(), options);
  }
  TrainOptions options = options_of("gin");
  options.clip_norm = 0.01;
  options.train_eps = true;
  options.normalize_features = FeatureScaling::kRow;
  expect_as_on_one_rank(graphs(), options);
}

TEST(TrainRankGraphs, EdgeFeaturesAndEdgeWeights) {
  Dataset data = graphs();
  const std::int64_t edges = data.src.numel();
  std::vector<float> attr, weight;
  for (std::int64_t e = 0; e < edges; ++e) {
    weight.push_back(static_cast<float>(e % 5 + 1) / 4);
    for (int k = 0; k < 3; ++k) attr.push_back(static_cast<float>((e + k) % 4));
  }
  Dataset weighted = data;
  weighted.edge_weight = Tensor::from(weight);
  expect_as_on_one_rank(weighted, options_of("gcn"));
  data.edge_attr = Tensor::from(attr, {edges, 3});
  TrainOptions options = options_of("gin");
  options.edge_features = true;
  options.undirected = false;
  expect_as_on_one_rank(data, options);
  options.batch_graphs = 3;  // of one rank
  options.epochs = 1;
  expect_as_on_one_rank(data, options);
}

TEST(TrainRankGraphs, TargetsThatAreMissing) {
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae}) {
    TrainOptions options = options_of("gcn");
    options.loss = loss;
    expect_as_on_one_rank(with_targets(), options);
  }
}

TEST(TrainRankGraphs, SeveralTasks) {
  Dataset data = graphs();
  std::vector<std::uint8_t> y;
  for (std::int64_t i = 0; i < 2 * data.num_graphs(); ++i)
    y.push_back(i % 5 == 1 ? Dataset::kMissingLabel : static_cast<std::uint8_t>(i % 3 == 0));
  data.graph_label = Tensor::from(y, {data.num_graphs(), 2});
  data.num_classes = 2;
  data.class_names.clear();
  expect_as_on_one_rank(data, options_of("gcn"));
}

TEST(TrainRankGraphs, SameBitsInEveryRun) {
  for (const std::string_view model : {"gin", "gcn"}) {
    const Trained first = train(graphs(), options_of(model), ranks());
    for (int run = 1; run < 4; ++run) {
      const Trained again = train(graphs(), options_of(model), ranks());
      EXPECT_EQ(again.losses, first.losses);
      test::expect_same_bits(again.weights, first.weights);
    }
  }
}

TEST(TrainRankGraphs, GoesOnFromACheckpointAlsoOnOtherRanks) {
  TrainOptions options = options_of("gin");
  const Trained whole = train(graphs(), options, ranks());
  options.epochs = 2;
  const Trained first = train(graphs(), options, ranks());
  options.epochs = 4;
  const Trained rest = train(graphs(), options, ranks(), {.from = &first});
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 2, whole.losses.end()));
  test::expect_same_bits(rest.weights, whole.weights);
  const Trained alone = train(graphs(), options, Communicator(), {.from = &first});
  for (std::size_t i = 0; i < alone.losses.size(); ++i)
    EXPECT_NEAR(alone.losses[i], rest.losses[i], 1e-4 * rest.losses[i]);
}

TEST(TrainRankGraphs, AnotherDatasetOnARankIsAnError) {
  RODEO_NEEDS_TWO_RANKS();
  Dataset data = graphs();
  if (ranks().rank() == 1) data.graph_label.data<std::int64_t>()[3] ^= 1;
  test::expect_other_data_is_an_error(data, options_of("gin"));
}

TEST(TrainRankGraphs, StopTogether) {
  TrainOptions options = options_of("gin");
  options.epochs = 100'000;
  const Trained stopped = train(graphs(30), options, ranks(), {.stops = true});
  EXPECT_TRUE(stopped.summary.stopped);
  const Tensor epochs = Tensor::from(std::vector<std::int64_t>{stopped.summary.epochs}, test::device());
  ranks().all_reduce(epochs, Reduction::kMax);
  EXPECT_EQ(epochs.to(kCpu).to_vector<std::int64_t>().front(), stopped.summary.epochs);
  test::expect_same_on_all_ranks(stopped.weights);
}

// Graph 0 is as large as all others.
TEST(TrainRankGraphs, CutsAtMultiplesOfFourByNodesAndEdges) {
  const Csr edges{10, 10, Tensor::zeros({11}, DType::kI64), Tensor::zeros({0}, DType::kI32)};
  const GraphSet set(Adjacency(edges),
                     Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  const std::vector<std::int64_t> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  using Cuts = std::vector<std::int64_t>;
  EXPECT_EQ(cut_graphs(ten, set, 1), (Cuts{0, 10}));
  EXPECT_EQ(cut_graphs(ten, set, 2), (Cuts{0, 4, 10}));
  EXPECT_EQ(cut_graphs({3, 1, 2}, set, 3), (Cuts{0, 0, 3, 3}));
  EXPECT_EQ(cut_graphs({}, set, 2), (Cuts{0, 0, 0}));
}

TEST(TrainRankGraphs, RowsOfAnyNumber) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks().size()), 3);
  EXPECT_EQ(NodePartition(ranks(), rows, 1).num_nodes(), 3 * ranks().size());
  if (ranks().size() > 1) {
    EXPECT_THROW(NodePartition(ranks(), rows), Error);
  }
}

TEST(TrainRankGraphs, NodesOfRanksFollowEachOther) {
  for (const int empty : {0, ranks().size() - 1}) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks().size()), 8);
    rows[static_cast<std::size_t>(empty)] = 0;
    const std::int64_t before = 8 * (ranks().rank() - (empty < ranks().rank()));
    EXPECT_EQ(NodePartition(ranks(), rows).first_row(), before) << "rank " << empty << " has no nodes";
  }
}

}  // namespace
}  // namespace rodeo
