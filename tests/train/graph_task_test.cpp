// --task graph: learns from structure, and is the same in every run.
#include "train/task/graph_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/steps.h"
#include "tests/support/temp_dir.h"
#include "train/commands/parse_options.h"
#include "train/commands/predict.h"
#include "train/commands/recorder.h"
#include "train/io/atomic_file.h"
#include "train/task/graph_steps.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

constexpr float kNoTarget = std::numeric_limits<float>::quiet_NaN();

class TrainGraphTask : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainGraphTask);

TrainOptions graph_options(std::string_view model, int epochs) {
  TrainOptions options = published_options(model, TaskKind::kGraph);
  options.epochs = epochs;
  options.batch_graphs = 32;
  options.fold = 0;
  return options;
}

struct Result {
  TrainSummary summary;
  StateDict state;
};

Result train(const TrainOptions& options, Device device) {
  const NodeRun run = make_run(synthesize_graphs({.graphs = 120}), options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  const TrainSummary summary = trainer.fit();
  return {summary, run.model.module->state_dict()};
}

TEST_P(TrainGraphTask, LearnsTheSameInEveryRun) {
  const TrainOptions options = graph_options("gin", 40);
  const Result one = train(options, device()), two = train(options, device());
  EXPECT_GT(one.summary.best.val, 0.8);
  EXPECT_GT(one.summary.best.test, 0.6);  // of 12 graphs; chance is a third
  for (std::size_t i = 0; i < one.state.size(); ++i)
    EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second)) << one.state[i].first;
}

/// Graphs whose features name their class: the generated ones are of structure, which GCN's means hide.
Dataset easy_graphs() {
  Dataset data = synthesize_graphs({.graphs = 120});
  const auto* ptr = data.graph_ptr.data<std::int64_t>();
  for (std::int64_t g = 0; g < data.num_graphs(); ++g)
    for (std::int64_t i = ptr[g]; i < ptr[g + 1]; ++i)
      data.x.data<float>()[i * data.num_features + data.graph_label.data<std::int64_t>()[g]] += 1;
  return data;
}

TEST_P(TrainGraphTask, EveryPoolAndBothModels) {
  for (const std::string_view model : {"gin", "gcn"})
    for (const PoolKind pool : {PoolKind::kSum, PoolKind::kMean, PoolKind::kMax, PoolKind::kAttention}) {
      TrainOptions options = graph_options(model, 30);
      options.pool = pool;
      options.layers = 3;
      const NodeRun run = make_run(easy_graphs(), options, device());
      Trainer trainer = make_trainer(run, {.epochs = options.epochs});
      EXPECT_GT(trainer.fit().last.train, 0.8) << model << " " << name(pool);
    }
}

// The class is written on the edges alone.
TEST_P(TrainGraphTask, GineReadsEdgeFeatures) {
  Dataset data = synthesize_graphs({.graphs = 90});
  const auto* ptr = data.graph_ptr.data<std::int64_t>();
  data.x = Tensor::full({data.num_nodes, 1}, 1);
  data.num_features = 1;
  data.edge_attr = Tensor::zeros({data.num_edges(), 3});
  std::int64_t g = 0;
  for (std::int64_t e = 0; e < data.num_edges(); ++e) {  // edges are sorted by graph
    while (data.src.data<std::int32_t>()[e] >= ptr[g + 1]) ++g;
    data.edge_attr.data<float>()[3 * e + (g * 7 + 1) % 3] = 1;
    data.graph_label.data<std::int64_t>()[g] = (g * 7 + 1) % 3;
  }
  TrainOptions options = graph_options("gin", 30);
  options.layers = 2;
  options.edge_features = true;
  const NodeRun run = make_run(data, options, device());
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  EXPECT_GT(trainer.fit().best.test, 0.9);
  EXPECT_ERROR(make_run(synthesize_graphs({.graphs = 30}), options, device()),
               "graphs: has no /edge_attr, which --edge-features reads");
}

// The rows of a batch are those of the whole set: without batch normalisation and dropout both give one loss.
TEST_P(TrainGraphTask, ABatchOfAllTrainingGraphsHasTheLossOfTheSet) {
  TrainOptions options = graph_options("gcn", 1);
  options.dropout = 0;
  options.batch_graphs = 1000;
  const NodeRun run = make_run(synthesize_graphs({.graphs = 60}), options, device());
  Steps steps(run);
  EXPECT_EQ(steps.size(), 1);
  const double loss = steps.loss().value().item();
  EXPECT_NEAR(steps.metrics()[1], loss, 1e-4);
}

// 96 training graphs, of which the last batch of 40 has 16.
TEST_P(TrainGraphTask, TheLossOfAnEpochIsTheMeanOverItsGraphs) {
  TrainOptions options = graph_options("gcn", 1);
  options.dropout = options.lr = 0;
  for (const int batch : {1000, 48, 40}) {
    options.batch_graphs = batch;
    const NodeRun run = make_run(synthesize_graphs({.graphs = 120}), options, device());
    double loss = 0;
    make_trainer(run, {.epochs = 1}).fit([&](const EpochReport& report) { loss = report.loss; });
    EXPECT_NEAR(loss, metrics_of(run)[1], 1e-4) << batch;
  }
}

/// Targets that the features tell: 1 + the class, and half of its square. Every ninth value is missing, and
/// both of graph 4.
Dataset graphs_with_targets() {
  Dataset data = easy_graphs();
  std::vector<float> targets;
  for (std::int64_t g = 0; g < data.num_graphs(); ++g) {
    const auto value = static_cast<float>(1 + data.graph_label.data<std::int64_t>()[g]);
    for (const float target : {value, value * value / 2})
      targets.push_back(g == 4 || targets.size() % 9 == 2 ? kNoTarget : target);
  }
  data.graph_label = Tensor::from(targets, {data.num_graphs(), 2});
  data.num_classes = 2;
  data.class_names.clear();
  return data;
}

TEST_P(TrainGraphTask, LearnsTargetsOfGraphs) {
  const Dataset data = graphs_with_targets();
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae}) {
    TrainOptions options = graph_options("gin", 40);
    options.layers = 2, options.dropout = 0, options.pool = PoolKind::kMean;
    options.loss = loss;
    const auto fit = [&] {
      const NodeRun run = make_run(data, options, device());
      EXPECT_EQ(run.task.metric, "R^2");
      EXPECT_TRUE(run.task.regression());
      return make_trainer(run, {.epochs = options.epochs}).fit().best;
    };
    const Evaluation one = fit(), two = fit();
    EXPECT_GT(one.test, 0.5) << name(loss);
    EXPECT_EQ(one.test, two.test) << "other bits";
  }
}

/// Three tasks for each graph: whether it has class t. Every seventh label is missing, and all of graph 4.
Dataset graphs_with_tasks() {
  Dataset data = easy_graphs();
  std::vector<std::uint8_t> tasks;
  for (std::int64_t g = 0; g < data.num_graphs(); ++g)
    for (std::int64_t t = 0; t < 3; ++t)
      tasks.push_back(g == 4 || tasks.size() % 7 == 2 ? Dataset::kMissingLabel
                                                      : data.graph_label.data<std::int64_t>()[g] == t);
  data.graph_label = Tensor::from(tasks, {data.num_graphs(), 3});
  data.class_names.clear();
  return data;
}

TEST_P(TrainGraphTask, LearnsTasksWithMissingLabels) {
  TrainOptions options = graph_options("gin", 12);
  options.layers = 2, options.pool = PoolKind::kMean;
  for (const NodeMetric metric : {NodeMetric::kRocAuc, NodeMetric::kAp}) {
    options.metric = metric;
    const NodeRun run = make_run(graphs_with_tasks(), options, device());
    const Split& split = run.task.split;
    EXPECT_EQ(split.train.numel() + split.val.numel() + split.test.numel(), 119);  // without graph 4
    EXPECT_EQ(run.task.metric, metric == NodeMetric::kAp ? "average precision" : "ROC-AUC");
    EXPECT_GT(make_trainer(run, {.epochs = options.epochs}).fit().best.test, 0.9) << name(metric);
  }
}

TEST_P(TrainGraphTask, ABatchOfAllTrainingGraphsHasTheLossOfTheKnownTasks) {
  TrainOptions options = graph_options("gcn", 1);
  options.dropout = 0, options.batch_graphs = 1000;
  const NodeRun run = make_run(graphs_with_tasks(), options, device());
  Steps steps(run);
  const Tensor label = run.task.label.to(kCpu);
  const std::vector<double> logits = doubles(run.model.forward().value());
  double sum = 0, count = 0;
  for (const std::int64_t g : run.task.split.train.to_vector<std::int64_t>())
    for (std::int64_t i = 3 * g; i < 3 * g + 3; ++i) {
      const std::uint8_t y = label.data<std::uint8_t>()[i];
      if (y == Dataset::kMissingLabel) continue;
      sum += std::log1p(std::exp(y == 1 ? -logits[i] : logits[i])), ++count;
    }
  EXPECT_NEAR(steps.loss().value().item(), sum / count, 1e-4);
}

// A batch of all training graphs has the loss of the set, by definition; the graph without targets is in no
// part.
TEST_P(TrainGraphTask, LossAndMetricsOfTargetsByDefinition) {
  const Dataset data = graphs_with_targets();
  const std::vector<float> y = data.graph_label.to_vector<float>();
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae}) {
    TrainOptions options = graph_options("gcn", 1);
    options.dropout = 0, options.batch_graphs = 1000, options.loss = loss, options.metric = NodeMetric::kMae;
    const NodeRun run = make_run(data, options, device());
    Steps steps(run);
    EXPECT_EQ(steps.size(), 1);
    const Tensor outputs = run.model.forward().value();
    const ColumnScale& scale = run.task.target_scale;
    const std::vector<double> predicted = doubles(scale.undo(outputs)), scaled = doubles(outputs),
                              scaled_y = doubles(scale.apply(data.graph_label.to(device())));
    const double batch = steps.loss().value().item();
    const std::vector<double> got = steps.metrics();
    const Split& split = run.task.split;
    for (std::size_t s = 0; s < 3; ++s) {
      double squares = 0, absolutes = 0, count = 0, sum = 0;
      for (const std::int64_t g : (&split.train + s)->to_vector<std::int64_t>()) {
        EXPECT_NE(g, 4);
        for (const std::size_t i : {2 * static_cast<std::size_t>(g), 2 * static_cast<std::size_t>(g) + 1}) {
          if (std::isnan(y[i])) continue;
          const double d = predicted[i] - static_cast<double>(y[i]);
          squares += d * d, absolutes += std::abs(d), ++count;
          const double e = scaled[i] - scaled_y[i];
          sum += loss == RegressionLoss::kMse ? e * e : std::abs(e);
        }
      }
      const double want = sum / count;
      EXPECT_NEAR(got[2 * s], -absolutes / count, 1e-5 * absolutes / count);
      EXPECT_NEAR(got[2 * s + 1], want, 1e-5 * want);
      if (s == 0) {
        EXPECT_NEAR(batch, want, 1e-4 * want);
      }
      if (s == 2) {
        EXPECT_NEAR(run.model.parts.metrics->details()[1].second, squares / count, 1e-5 * squares / count);
      }
    }
  }
}

TEST(TrainGraphTargets, ErrorsNameWhatIsForClasses) {
  TrainOptions options = graph_options("gin", 1);
  options.metric = NodeMetric::kMse;
  EXPECT_ERROR(
      make_run(synthesize_graphs({.graphs = 60}), options, kCpu),
      "--metric mse, --loss mse: mse and mae are for labels that are numbers, and the labels of this "
      "dataset are classes");
  Dataset data = graphs_with_targets();
  data.graph_label.fill(static_cast<double>(kNoTarget));
  EXPECT_ERROR(make_run(data, options, kCpu), "--folds 10 leaves a part without a graph: 0 have a label");
}

TEST(TrainGraphBatches, ASingleGraphAtTheEndJoinsTheBatchBefore) {
  const Dataset data = synthesize_graphs({.graphs = 8});
  const GraphSet set(to_graph(data, kCpu).adj, data.graph_ptr);
  const auto sizes = [&](std::int64_t graphs) {
    std::vector<std::int64_t> training(static_cast<std::size_t>(graphs));
    std::iota(training.begin(), training.end(), 0);
    GraphSteps steps(set, training, {.batch_graphs = 3});
    steps.begin_epoch({});
    std::vector<std::size_t> all;
    while (const StepInput* in = steps.next()) all.push_back(in->examples.host.size());
    return all;
  };
  EXPECT_EQ(sizes(1), (std::vector<std::size_t>{1}));
  EXPECT_EQ(sizes(6), (std::vector<std::size_t>{3, 3}));
  EXPECT_EQ(sizes(7), (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(sizes(8), (std::vector<std::size_t>{3, 3, 2}));
}

TEST(TrainGraphFolds, AreStratifiedAndCoverAllGraphs) {
  std::vector<std::int64_t> label;
  for (int g = 0; g < 103; ++g) label.push_back(g % 5 == 0 ? 1 : 0);
  std::set<std::int64_t> tested;
  for (int k = 0; k < 10; ++k) {
    const Split split = fold_split(Tensor::from(label), 10, k, 7);
    EXPECT_EQ(split.train.numel() + split.val.numel() + split.test.numel(), 103);
    int ones = 0;
    for (const std::int64_t g : split.test.to_vector<std::int64_t>()) {
      EXPECT_TRUE(tested.insert(g).second);
      ones += label[g] == 1;
    }
    EXPECT_GE(ones, 2);
    EXPECT_LE(ones, 3);
    EXPECT_TRUE(same_bits(split.val, fold_split(Tensor::from(label), 10, (k + 1) % 10, 7).test));
  }
  EXPECT_EQ(tested.size(), 103u);
  EXPECT_ERROR(fold_split(Tensor::from(label), 10, 10, 0), "--fold must be in [0, 10), got 10");
  EXPECT_ERROR(fold_split(Tensor::from(label), 104, 0, 7),
               "--folds 104 leaves a part without a graph: 103 have a label");
}

TEST(TrainGraphOptions, TheSplitOfTheFile) {
  TrainOptions options = graph_options("gin", 1);
  options.fold = kFoldOfFile;
  Dataset set = synthesize_graphs({.graphs = 12});
  EXPECT_ERROR(
      make_run(set, options, kCpu),
      "graphs: --fold file needs /graph_train_mask, /graph_val_mask and /graph_test_mask, each with a graph");
  set.graph_split = fold_split(set.graph_label, 3, 0, 0);
  const Split split = make_run(set, options, kCpu).task.split;
  EXPECT_TRUE(same_bits(split.val, set.graph_split.val) && same_bits(split.test, set.graph_split.test));
  EXPECT_EQ(make_run(set, graph_options("gin", 1), kCpu).task.warnings.at(0).find("the file has"), 0u);
  set.graph_label = {};
  EXPECT_ERROR(make_run(set, options, kCpu), "graphs: has no /graph_y: --task graph needs labels of graphs");
}

TEST(TrainGraphOptions, DefaultsAndErrors) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "g.h5", "--task", "graph"});
    TrainOptions defaults;
    defaults.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), defaults);
  };
  const TrainOptions options = parse({"--model", "gin", "--pool", "mean", "--fold", "3"});
  EXPECT_EQ(options.layers, 5);
  EXPECT_EQ(options.pool, PoolKind::kMean);
  EXPECT_EQ(options.fold, 3);
  EXPECT_EQ(parse({"--model", "gcn"}).fold, -1);
  EXPECT_EQ(parse({"--model", "gin", "--fold", "file"}).fold, kFoldOfFile);
  EXPECT_EQ(parse({"--model", "gin", "--metric", "mae", "--loss", "mae"}).metric, NodeMetric::kMae);
  EXPECT_EQ(parse({"--model", "gin", "--metric", "roc-auc"}).metric, NodeMetric::kRocAuc);
  EXPECT_ERROR(parse({"--model", "gat"}), "--task graph is for --model gcn, gin, mlp: got gat");
}

/// Trains as rodeo_train does, with files. Returns the last parameters.
StateDict recorded(const Dataset& data, const TrainOptions& options) {
  const NodeRun run = make_run(data, options, kCpu);
  Recorder recorder(options);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  recorder.start(run, trainer, "here");
  recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
  return run.model.module->state_dict();
}

TEST(TrainGraphFiles, ARunIsResumedWithTheSameBits) {
  const TempDir dir;
  TrainOptions options = graph_options("gin", 6);
  options.checkpoint = dir / "run", options.checkpoint_every = 1;
  const auto run_to = [&](int epochs, bool resume) {
    options.epochs = epochs, options.resume = resume;
    return recorded(synthesize_graphs({.graphs = 90}), options);
  };
  run_to(3, false);
  const StateDict resumed = run_to(6, true);
  std::filesystem::remove_all(options.checkpoint);
  const StateDict whole = run_to(6, false);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(same_bits(resumed[i].second, whole[i].second));
}

TEST(TrainGraphFiles, WeightsPredictTheClassOfEachGraph) {
  const TempDir dir;
  const Dataset data = synthesize_graphs({.graphs = 60});
  save_dataset(data, dir / "g.h5");
  TrainOptions options = graph_options("gin", 5);
  options.export_file = dir / "w.safetensors";
  recorded(data, options);
  PredictOptions wanted;
  wanted.dataset = dir / "g.h5", wanted.weights = dir / "w.safetensors";
  wanted.out = dir / "p.csv", wanted.device = "cpu", wanted.quiet = true;
  predict(wanted);
  const std::string text = read_file(wanted.out, 100'000);
  EXPECT_TRUE(text.starts_with("graph,class\n0,")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 61);

  // Regression has a column for each target.
  const Dataset numbers = graphs_with_targets();
  save_dataset(numbers, dir / "g.h5");
  EXPECT_TRUE(same_bits(load_dataset(dir / "g.h5").graph_label, numbers.graph_label));
  recorded(numbers, options);
  predict(wanted);
  const std::string values = read_file(wanted.out, 100'000);
  EXPECT_TRUE(values.starts_with("graph,value_0,value_1\n0,")) << values;
  EXPECT_EQ(std::count(values.begin(), values.end(), '\n'), 121);

  // With several tasks `class` lists those that a graph has.
  save_dataset(graphs_with_tasks(), dir / "g.h5");
  recorded(graphs_with_tasks(), options);
  wanted.probabilities = true;
  predict(wanted);
  EXPECT_TRUE(read_file(wanted.out, 100'000)
                  .starts_with("graph,class,probability_0,probability_1,probability_2\n0,"));
  wanted.edges = dir / "e.csv";
  EXPECT_ERROR(predict(wanted), str("--edges is for weights of --task link, got ", dir / "w.safetensors",
                                    ", of --task graph"));
}

}  // namespace
}  // namespace rodeo::test
