#include "datasets/synthetic.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm_variant.h"
#include "tests/support/devices.h"
#include "tests/support/tiny.h"
#include "train/commands/train_run.h"
#include "train/report/spmm_choices.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainSpmmAlgorithms : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainSpmmAlgorithms);

TEST_P(TrainSpmmAlgorithms, TrainToTheSameLosses) {
  SyntheticOptions size;
  size.nodes = 200, size.edges = 6000, size.features = 40, size.classes = 4;
  size.train_per_class = 20, size.val = size.test = 30;
  const Dataset dataset = synthesize(size);
  const auto losses = [&](TrainOptions options, SpmmAlgorithm algorithm) {
    options.spmm = algorithm;
    const RunSettings settings(options);
    const NodeRun run = make_run(dataset, options, device());
    Trainer trainer = make_trainer(run, {.epochs = 4});
    std::vector<double> all;
    trainer.fit([&](const EpochReport& report) { all.push_back(report.loss); });
    return all;
  };
  std::vector<std::string_view> models{"gcn", "sage", "gin"};
  for (const ModelEntry& model : model_registry())
    if (model.conv->traits.heads) models.push_back(model.name);
  for (const std::string_view model : models)
    for (const auto& [precision, precision_name] : kEnumNames<Precision>.rows) {
      if (precision != Precision::kFp32 && !device().is_cuda()) continue;
      TrainOptions options = published_options(model);
      options.precision = precision;
      if (traits_of(options).attention_form) options.attention = AttentionForm::kComposed;
      const std::vector<double> expected = losses(options, SpmmAlgorithm::kCsr);
      for (const auto& [algorithm, name] : kEnumNames<SpmmAlgorithm>.rows) {
        if (is_only_cuda(algorithm) && !device().is_cuda()) continue;
        const double tolerance = precision == Precision::kBf16                                ? 5e-2
                                 : precision == Precision::kTf32 || rounds_to_tf32(algorithm) ? 1e-2
                                                                                              : 1e-4;
        const std::vector<double> got = losses(options, algorithm);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t epoch = 0; epoch < got.size(); ++epoch)
          EXPECT_NEAR(got[epoch], expected[epoch], tolerance * expected[epoch])
              << model << " " << precision_name << " " << name << ", epoch " << epoch;
      }
    }
}

TEST(TrainSpmmOptions, TheOutputNamesWhatAggregatesAndScores) {
  struct Case {
    const char* model;
    std::vector<GivenOption> given;
    const char *on_cpu, *on_cuda;  // on_cuda null: the same
  };
  const Case cases[] = {
      {"gcn", {}, "spmm auto", nullptr},
      {"gcn", {{"batch", "8", ""}}, "spmm csr", nullptr},
      {"gcn", {{"batch", "8", ""}, {"spmm", "rode", ""}}, "spmm rode", nullptr},
      {"gcn", {{"spmm", "tca", ""}}, "spmm tca (tf32 in the products)", nullptr},
      {"sage", {{"spmm", "rode-tc", ""}, {"precision", "bf16", ""}}, "spmm rode-tc", nullptr},
      {"sage", {{"aggr", "max", ""}}, "spmm max by its one kernel", nullptr},
      {"gat",
       {},
       "attention fused: scores and sums in one loop",
       "attention fused: scores and sums in one kernel, on RoDe's plan"},
      {"gat",
       {{"batch", "8", ""}},
       "attention fused: scores and sums in one loop",
       "attention fused: scores and sums in one kernel, row by row"},
      {"gat",
       {{"attention", "composed", ""}},
       "attention composed: scores by sddmm add (rows), sums by spmm auto, gradient of weights by sddmm auto",
       "attention composed: scores by sddmm add (rows), sums by spmm rode, gradient of weights by sddmm "
       "auto"},
      {"gat",
       {{"attention", "composed", ""}, {"spmm", "tca", ""}, {"sddmm", "edges", ""}},
       "attention composed: scores by sddmm add (rows), sums by spmm tca (tf32 in the products), gradient of "
       "weights by sddmm edges",
       nullptr},
  };
  for (const Case& c : cases) {
    TrainOptions options = published_options(c.model);
    apply_options(c.given, options);
    EXPECT_EQ(describe_aggregation(options, kCpu), c.on_cpu);
    EXPECT_EQ(describe_aggregation(options, cuda_device()), c.on_cuda ? c.on_cuda : c.on_cpu);
  }
}

// Rows of three and more pieces: the sums of two have the same bits in any order, and rows that are not split
// are of one kernel.
TEST(TrainSpmmOptions, AtomicAccumulationTrainsEveryModel) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  SyntheticOptions size;
  size.nodes = 2000, size.edges = 80'000, size.features = 40, size.classes = 4;
  size.train_per_class = 10, size.val = size.test = 50, size.skew = 0.95;
  const Dataset dataset = synthesize(size);
  bool bits_differ = false;  // of some model: else the ordered kernel ran
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
      const RodePlan& plan = rode_plan(run.model.adj);
      ASSERT_GT(plan.num_slots, 2 * plan.num_split_rows()) << model;
      const std::string told = format_spmm_choices(options.spmm, run.model.adj);
      EXPECT_TRUE(told.starts_with("spmm rode: asked for\n  n=")) << told;
      EXPECT_NE(told.find(": rode"), std::string::npos) << told;
    }
    bits_differ |= losses[1] != losses[0];
    for (std::size_t epoch = 0; epoch < losses[0].size(); ++epoch)
      EXPECT_NEAR(losses[1][epoch], losses[0][epoch], 1e-3 * losses[0][epoch])
          << model << ", epoch " << epoch;
  }
  EXPECT_TRUE(bits_differ);
}

}  // namespace
}  // namespace rodeo::test
