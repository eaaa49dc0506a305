// The parts of training are exchanged for others: any criterion on any source of steps.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "datasets/synthetic.h"
#include "ops/convert.h"
#include "ops/regression_loss.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/steps.h"
#include "train/classification.h"
#include "train/pair_batches.h"
#include "train/sampled_steps.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

Dataset small_graph() {
  return synthesize({.nodes = 300,
                     .edges = 1200,
                     .features = 16,
                     .classes = 3,
                     .label_noise = 0,
                     .train_per_class = 20,
                     .val = 80,
                     .test = 120,
                     .seed = 5});
}

/// Labels of several classes, or targets of two columns; about one in five is missing.
Dataset with_labels(bool numbers) {
  Dataset data = small_graph();
  const auto label = data.y.to_vector<std::int64_t>();
  std::vector<std::uint8_t> labels;
  std::vector<float> targets;
  for (std::size_t i = 0; i < label.size(); ++i) {
    for (std::int64_t c = 0; c < 3; ++c)
      labels.push_back(labels.size() % 5 == 2 ? Dataset::kMissingLabel
                                              : static_cast<std::uint8_t>(label[i] == c || c == 1));
    for (std::int64_t j = 0; j < 2; ++j)
      targets.push_back(targets.size() % 5 == 2 ? std::numeric_limits<float>::quiet_NaN()
                                                : static_cast<float>(label[i] + j));
  }
  data.y = numbers ? Tensor::from(targets, {300, 2}) : Tensor::from(labels, {300, 3});
  if (numbers) data.num_classes = 2, data.class_names.clear();
  return data;
}

TrainOptions batched(std::int64_t batch, const char* fanout = "-1,-1") {
  TrainOptions options = published_options("sage");
  options.dropout = 0;
  options.batch = batch;
  options.fanout = fanout;
  return options;
}

/// One batch of all training nodes with all neighbours has the loss and the metrics of the whole graph.
void expect_as_whole_graph(const Dataset& data, TrainOptions options, Device device) {
  const NodeRun sampled = make_run(data, options, device);
  options.batch = 0;
  options.fanout.clear();
  const NodeRun whole = make_run(data, options, device);
  whole.model.module->load_state_dict(sampled.model.module->state_dict());
  EXPECT_NEAR(first_loss(sampled).value().item(), first_loss(whole).value().item(), 1e-5);
  const std::vector<double> got = metrics_of(sampled), expected = metrics_of(whole);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4) << i;
}

class TrainComposition : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainComposition);

TEST_P(TrainComposition, EveryCriterionTrainsOnBatches) {
  TrainOptions options = batched(1000);
  options.class_weights = "balanced";
  options.label_smoothing = 0.1;
  options.metric = NodeMetric::kMacroF1;
  expect_as_whole_graph(small_graph(), options, device());
  options.class_weights = "1,0.5,2";
  options.label_smoothing = 0;
  options.metric = NodeMetric::kRocAuc;
  expect_as_whole_graph(small_graph(), options, device());
  expect_as_whole_graph(with_labels(/*numbers=*/false), batched(1000), device());
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae}) {
    options = batched(1000);
    options.loss = loss;
    expect_as_whole_graph(with_labels(/*numbers=*/true), options, device());
  }
}

// The loss of an epoch is the mean over terms, not over batches: without an update, that of the whole graph.
TEST_P(TrainComposition, LossOfAnEpochIsTheMeanOverItsTerms) {
  const auto loss_of = [&](const Dataset& data, TrainOptions options) {
    options.lr = 1e-12;
    const NodeRun run = make_run(data, options, device());
    double loss = 0;
    make_trainer(run, {.epochs = 1}).fit([&](const EpochReport& report) { loss = report.loss; });
    return loss;
  };
  for (const bool numbers : {false, true}) {
    const Dataset data = with_labels(numbers);
    EXPECT_NEAR(loss_of(data, batched(7)), loss_of(data, batched(1000)), 1e-5);
  }
  TrainOptions weighted = batched(7), all = batched(1000);
  weighted.class_weights = all.class_weights = "1,0,3";
  EXPECT_NEAR(loss_of(small_graph(), weighted), loss_of(small_graph(), all), 1e-5);
}

TEST_P(TrainComposition, PrunedRowsTrainWithEveryCriterion) {
  TrainOptions options = published_options("gcn");
  options.dropout = 0;
  options.class_weights = "1,0.5,2";
  options.metric = NodeMetric::kMacroF1;
  const auto losses = [&](bool prune, const Dataset& data) {
    options.prune_rows = prune;
    std::vector<double> out;
    const NodeRun run = make_run(data, options, device());
    make_trainer(run, {.epochs = 6}).fit([&](const EpochReport& report) {
      out.insert(out.end(), {report.loss, report.evaluation->val, report.evaluation->val_loss});
    });
    return out;
  };
  const auto expect_same = [&](const Dataset& data) {
    const std::vector<double> pruned = losses(true, data), all = losses(false, data);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(pruned[i], all[i], 1e-4) << i;
  };
  expect_same(small_graph());
  options.class_weights.clear();
  options.metric = NodeMetric::kAccuracy;
  expect_same(with_labels(/*numbers=*/false));
  expect_same(with_labels(/*numbers=*/true));
}

TrainOptions link_batches(std::int64_t batch) {
  TrainOptions options = published_options("sage", TaskKind::kLink);
  options.hidden = options.embedding = 16;
  options.batch = batch;
  options.fanout = "10,10";
  options.epochs = 20;
  return options;
}

TEST_P(TrainComposition, LinksTrainOnBatches) {
  const Dataset data = synthesize({.nodes = 400,
                                   .edges = 4000,
                                   .features = 32,
                                   .classes = 4,
                                   .train_per_class = 5,
                                   .val = 20,
                                   .test = 20,
                                   .seed = 3});
  const auto train = [&](std::int64_t batch) {
    const NodeRun run = make_run(data, link_batches(batch), device());
    return make_trainer(run, {.epochs = 20}).fit();
  };
  const TrainSummary one = train(256), again = train(256);
  EXPECT_GT(one.best.test, 0.75);
  EXPECT_EQ(one.last.val, again.last.val);
  EXPECT_EQ(one.last.val_loss, again.last.val_loss);
  EXPECT_GT(one.batches->batches, 5);
}

// With all neighbours a sample is the neighbourhood, for the nodes of all pairs.
TEST_P(TrainComposition, SampledEvaluationOfLinksKnowsAllNodes) {
  const Dataset data = synthesize({.nodes = 200,
                                   .edges = 900,
                                   .features = 16,
                                   .classes = 4,
                                   .train_per_class = 5,
                                   .val = 20,
                                   .test = 20,
                                   .seed = 4});
  TrainOptions options = link_batches(50);
  options.fanout = "-1,-1";
  const std::vector<double> exact = metrics_of(make_run(data, options, device()));
  options.eval_sampled = true;
  const std::vector<double> sampled = metrics_of(make_run(data, options, device()));
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(sampled[i], exact[i], 1e-5) << i;
}

TEST(TrainPairBatches, LeaveOutTheEdgesOfABatch) {
  // 0 <- 1, 0 <- 2, 1 <- 0, 2 <- 1; the block computes nodes 5 and 7 from nodes 5, 7 and 9.
  const Adjacency adj =
      coo_to_csr(Tensor::from<std::int64_t>({0, 0, 1, 1}), Tensor::from<std::int64_t>({1, 2, 0, 1}), 2, 3)
          .adj;
  const Block block{adj, Tensor::from<std::int64_t>({40, 41, 42, 43}), Tensor::from<std::int64_t>({5, 7, 9})};
  const Block left = without_edges(block, {{0, 5, 9}, {0, 7, 5}});
  EXPECT_EQ(left.adj.csr().row_ptr.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(left.adj.csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(left.edge_ids.to_vector<std::int64_t>(), (std::vector<std::int64_t>{40, 43}));
  EXPECT_EQ(without_edges(block, {{0, 9, 5}}).adj.num_edges(), 4);
  // One of two relations has an edge 5 <- 9; the second begins with edge 41.
  EXPECT_EQ(without_edges(block, {{0, 5, 9}, {1, 5, 7}}, {0, 41}).adj.num_edges(), 4);
  EXPECT_EQ(without_edges(block, {{0, 5, 7}, {1, 5, 9}}, {0, 41}).edge_ids.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{42, 43}));
}

// A batch is numbered within its epoch: both are in the key of its negatives.
TEST(TrainPairBatches, NegativesAreOthersInEachEpochAndBatch) {
  const Adjacency graph = to_graph(small_graph(), kCpu, {.symmetrize = true}).adj;
  const EdgeList list = csr_to_coo(graph);
  PairBatchSampler sampler({list.col.to(DType::kI64), list.row.to(DType::kI64)}, {{.graph = graph}},
                           NeighborSampler(graph, {.fanout = {1}}), {.batch_size = 64, .seed = 1});
  const auto negatives = [&](std::int64_t epoch, std::size_t step) {
    sampler.epoch(epoch, 0);
    const Tensor nodes = sampler.sample(step).targets;
    const NodePairs pairs = sampler.pairs(step);
    return take(nodes, pairs.src.slice(64, 128)).to_vector<std::int64_t>();
  };
  const auto first = negatives(1, 0);
  EXPECT_EQ(first, negatives(1, 0));
  EXPECT_NE(first, negatives(2, 0));
  EXPECT_NE(first, negatives(1, 1));
}

TEST(TrainPairBatches, NoSampledEdgeIsPredicted) {
  const Dataset data = synthesize({.nodes = 200,
                                   .edges = 1500,
                                   .features = 8,
                                   .classes = 4,
                                   .train_per_class = 5,
                                   .val = 20,
                                   .test = 20,
                                   .seed = 2});
  const Adjacency graph = to_graph(data, kCpu, {.symmetrize = true}).adj;
  const EdgeList list = csr_to_coo(graph);
  NodePairs edges{list.col.to(DType::kI64), list.row.to(DType::kI64)};
  PairBatchSampler sampler(edges, {{.graph = graph, .messages = {{}, {.turned = true}}}},
                           NeighborSampler(graph, {.fanout = {-1, -1}}), {.batch_size = 64, .seed = 1});
  const auto steps = sampler.epoch(1, 0);
  const auto src = edges.src.to_vector<std::int64_t>(), dst = edges.dst.to_vector<std::int64_t>();
  std::size_t seen = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const SampledBatch batch = sampler.sample(s);
    const NodePairs pairs = sampler.pairs(s);
    const auto nodes = batch.targets.to_vector<std::int64_t>(), from = pairs.src.to_vector<std::int64_t>(),
               to = pairs.dst.to_vector<std::int64_t>();
    ASSERT_EQ(from.size(), 2 * steps[s].examples.size());
    std::set<std::pair<std::int64_t, std::int64_t>> predicted;
    for (std::size_t i = 0; i < steps[s].examples.size(); ++i) {
      const auto e = static_cast<std::size_t>(steps[s].examples[i]);
      EXPECT_EQ(nodes[static_cast<std::size_t>(from[i])], src[e]);
      EXPECT_EQ(nodes[static_cast<std::size_t>(to[i])], dst[e]);
      predicted.insert({src[e], dst[e]});
      predicted.insert({dst[e], src[e]});
    }
    for (const Block& block : batch.blocks) {
      const EdgeList in = csr_to_coo(block.adj);
      const auto of = block.sources.to_vector<std::int64_t>();
      const auto row = in.row.to(DType::kI64).to_vector<std::int64_t>(),
                 col = in.col.to(DType::kI64).to_vector<std::int64_t>();
      for (std::size_t i = 0; i < row.size(); ++i)
        EXPECT_FALSE(
            predicted.contains({of[static_cast<std::size_t>(col[i])], of[static_cast<std::size_t>(row[i])]}));
    }
    seen += steps[s].examples.size();
  }
  EXPECT_EQ(seen, src.size());
}

/// A loss that the library does not have: the mean square of the logits.
class SquaredLogits : public Classification {
 public:
  SquaredLogits(const NodeTask& task)
      : Classification(task.label, task.split, task.num_classes), rows_(task.split.train) {}
  Variable loss(const Variable& logits, const Examples& examples) const override {
    const Variable own = rows_(logits, examples);
    return mse_loss(own, Tensor::zeros(own.shape(), own.dtype(), own.device()));
  }

 private:
  ExampleRows rows_;
};

TEST_P(TrainComposition, ALossOfOnesOwnTrainsOnEverySource) {
  for (const std::int64_t batch : {0, 16}) {
    TrainOptions options = batched(batch);
    if (batch == 0) options.fanout.clear();
    const NodeRun run = make_run(small_graph(), options, device());
    TrainerParts parts = trainer_parts(run);
    parts.criterion = std::make_shared<SquaredLogits>(run.task);
    Trainer trainer(*run.model.module, parts, run.model.groups, {.epochs = 10});
    std::vector<double> losses;
    trainer.fit([&](const EpochReport& report) { losses.push_back(report.loss); });
    EXPECT_LT(losses.back(), 0.9 * losses.front()) << "batch " << batch;
  }
}

/// A source of steps that the library does not have: the first node of each class, all neighbours.
class FirstNodes : public BatchSampler {
 public:
  FirstNodes(const NodeTask& task, NeighborSampler sampler) : sampler_(std::move(sampler)) {
    nodes_ = task.split.train.slice(0, 12).to_vector<std::int64_t>();
  }
  std::vector<Step> epoch(std::int64_t, std::int64_t) override {
    return {{.done = 1, .examples = nodes_, .of_all = nodes_}};
  }
  std::int64_t num_batches() const override { return 1; }
  std::vector<std::int64_t> examples() const override { return nodes_; }
  SampledBatch sample(std::size_t) override {
    return sampler_.sample(Tensor::from(nodes_, sampler_.graph().device()));
  }

 private:
  NeighborSampler sampler_;
  std::vector<std::int64_t> nodes_;
};

TEST_P(TrainComposition, ASamplerOfOnesOwnFeedsEveryModel) {
  for (const char* model : {"sage", "gcn", "gat"}) {
    TrainOptions options = batched(64);
    options.model = model;
    const NodeRun run = make_run(small_graph(), options, device());
    TrainerParts parts = trainer_parts(run);
    parts.source = std::make_shared<SampledSteps>(
        std::make_unique<FirstNodes>(run.task, run.model.mini_batches->sampler), device());
    Trainer trainer(*run.model.module, parts, run.model.groups, {.epochs = 10});
    std::vector<double> losses;
    trainer.fit([&](const EpochReport& report) { losses.push_back(report.loss); });
    EXPECT_LT(losses.back(), losses.front()) << model;
  }
}

}  // namespace
}  // namespace rodeo::test
