#include <gtest/gtest.h>

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
  const NodeRun run = load_run(options, kCpu);
  EXPECT_EQ(run.task.num_nodes, 2708);
  EXPECT_EQ(run.task.num_edges, 10556);
  EXPECT_EQ(run.task.split.test.numel(), 1000);

  Trainer trainer(
      *run.model.module, [&] { return run.model.forward(); }, run.model.groups, run.task.label,
      run.task.split);
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
  Trainer trainer = make_trainer(run, {.epochs = 100, .eval_every = 5});
  EXPECT_GE(trainer.fit().best.test, 0.80);
}

TEST(TrainRealData, SgcReachesThePublishedAccuracyOnCora) {
  TrainOptions options = published_options("sgc");
  options.dataset = test::shared_data("cora.h5");
  if (options.dataset.empty()) GTEST_SKIP() << "no shared data: cora.h5";
  const NodeRun run = load_run(options, kCpu);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs, .eval_every = options.epochs});
  EXPECT_NEAR(trainer.fit().last.test, 0.81, 0.006);
}

TEST(TrainRealData, AMissingFileIsNamed) {
  TrainOptions options;
  options.dataset = "no such folder/cora.h5";
  const std::string error = test::error_of([&] { load_run(options, kCpu); });
  EXPECT_NE(error.find(options.dataset), std::string::npos) << error;
}

}  // namespace
}  // namespace rodeo
