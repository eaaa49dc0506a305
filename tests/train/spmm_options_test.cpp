#include "datasets/synthetic.h"
#include "ops/sparse/graph_plans.h"
#include "tests/support/devices.h"
#include "train/report/spmm_choices.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

// Rows long enough to be split: without them both ways to accumulate are the same kernel.
TEST(TrainSpmmOptions, AtomicAccumulationTrainsEveryModel) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  SyntheticOptions size;
  size.nodes = 2000, size.edges = 80'000, size.features = 40, size.classes = 4;
  size.train_per_class = 10, size.val = size.test = 50;
  const Dataset dataset = synthesize(size);
  for (const char* model : {"gcn", "sage", "gin", "sgc", "appnp"}) {
    std::vector<std::vector<double>> losses;
    for (const Accumulate accumulate : {Accumulate::kOrdered, Accumulate::kAtomic}) {
      TrainOptions options = published_options(model);
      options.spmm = SpmmAlgorithm::kRode;
      options.spmm_accumulate = accumulate;
      const NodeRun run = make_run(dataset, options, cuda_device());
      EXPECT_EQ(run.model.algorithms.find("atomic") != std::string::npos, accumulate == Accumulate::kAtomic);
      Trainer trainer = make_trainer(run, {.epochs = 6});
      losses.emplace_back();
      trainer.fit([&](const EpochReport& report) { losses.back().push_back(report.loss); });
      ASSERT_GT(rode_plan(run.model.adj).num_split_rows(), 0) << model;
      const std::string told = format_spmm_choices(options.spmm, run.model.adj);
      EXPECT_TRUE(told.starts_with("spmm rode: asked for\n  n=")) << told;
      EXPECT_NE(told.find(": rode"), std::string::npos) << told;
    }
    for (std::size_t epoch = 0; epoch < losses[0].size(); ++epoch)
      EXPECT_NEAR(losses[1][epoch], losses[0][epoch], 1e-3 * losses[0][epoch])
          << model << ", epoch " << epoch;
  }
}

}  // namespace
}  // namespace rodeo::test
