#include <gtest/gtest.h>

#include "models/gcn.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

TEST(TrainRealData, CoraReachesThePublishedAccuracy) {
  TrainOptions options;
  options.dataset = test::shared_data("cora.h5");
  if (options.dataset.empty()) GTEST_SKIP() << "no shared data: cora.h5";
  GcnGraph graph;
  const NodeTask task = load_task(options, kCpu, [&](Graph raw) { graph = gcn_norm(raw.adj, raw.weight); });
  EXPECT_EQ(task.num_nodes, 2708);
  EXPECT_EQ(task.num_edges, 10556);
  EXPECT_EQ(task.split.test.numel(), 1000);

  Gcn model({.in = task.num_features, .classes = task.num_classes, .spmm = {}}, Random(options.seed));
  const std::vector<Variable> all = model.parameters(), first = model.first_layer_parameters();
  Trainer trainer(
      model, [&] { return model.forward(graph, task.x); },
      {{first, {.weight_decay = 5e-4}}, {{all.begin() + first.size(), all.end()}, {}}}, task.label,
      task.split);
  const TrainSummary summary = trainer.fit();
  EXPECT_GE(summary.best.test, 0.79);
  EXPECT_GE(summary.last.test, 0.79);
}

TEST(TrainRealData, GatReachesThePublishedAccuracyOnCora) {
  TrainOptions options = published_options("gat");
  options.dataset = test::shared_data("cora.h5");
  if (options.dataset.empty()) GTEST_SKIP() << "no shared data: cora.h5";
  const NodeRun run = load_run(options, kCpu);
  EXPECT_EQ(run.model.adj.num_edges(), 10556 + 2708);  // every self loop once
  ASSERT_EQ(run.model.groups.size(), 1u);              // the penalty is on all parameters
  EXPECT_EQ(run.model.groups[0].parameters.size(), 8u);
  Trainer trainer(*run.model.module, run.model.forward, run.model.groups, run.task.label, run.task.split,
                  {.epochs = 100, .eval_every = 5});
  EXPECT_GE(trainer.fit().best.test, 0.80);
}

TEST(TrainRealData, SgcReachesThePublishedAccuracyOnCora) {
  TrainOptions options = published_options("sgc");
  options.dataset = test::shared_data("cora.h5");
  if (options.dataset.empty()) GTEST_SKIP() << "no shared data: cora.h5";
  const NodeRun run = load_run(options, kCpu);
  Trainer trainer(*run.model.module, run.model.forward, run.model.groups, run.task.label, run.task.split,
                  {.epochs = options.epochs, .eval_every = options.epochs});
  EXPECT_NEAR(trainer.fit().last.test, 0.81, 0.006);
}

TEST(TrainRealData, AMissingFileIsNamed) {
  TrainOptions options;
  options.dataset = "no such folder/cora.h5";
  const std::string error = test::error_of([&] { load_task(options, kCpu, [](Graph) {}); });
  EXPECT_NE(error.find(options.dataset), std::string::npos) << error;
}

}  // namespace
}  // namespace rodeo
