#include "datasets/synthetic.h"
#include "ops/sparse/graph_plans.h"
#include "tests/support/devices.h"
#include "train/report/spmm_choices.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainSddmmOptions : public OnDevice {
 protected:
  static Dataset dataset() {
    SyntheticOptions size;
    size.nodes = 2000, size.edges = 40'000, size.features = 40, size.classes = 4;
    size.train_per_class = 10, size.val = size.test = 50;
    return synthesize(size);
  }
  static std::vector<TrainOptions> models() {
    std::vector<TrainOptions> all;
    for (const ModelEntry& model : model_registry()) {
      if (!model.conv->traits.heads) continue;
      for (const bool trunk : {false, true}) {
        all.push_back(published_options(model.name));
        all.back().use_trunk = trunk;
        all.back().heads = all.back().hidden = 8;
        all.back().attention = AttentionForm::kComposed;
      }
    }
    return all;
  }
  NodeRun train(const TrainOptions& options) const {
    NodeRun run = make_run(dataset(), options, device());
    Trainer trainer = make_trainer(run, {.epochs = 2});
    trainer.fit([](const EpochReport&) {});
    return run;
  }
};
RODEO_ON_ALL_DEVICES(TrainSddmmOptions);

TEST_P(TrainSddmmOptions, AttentionModelsTellWhatAutoChose) {
  for (const TrainOptions& options : models()) {
    const NodeRun run = train(options);
    const std::string told = format_sddmm_choices(SddmmAlgorithm::kAuto, run.model.adj);
    EXPECT_TRUE(told.starts_with("sddmm auto, the graph:\n")) << told;
    EXPECT_NE(told.find("8 heads k=8 f32 unweighted: "), std::string::npos) << options.model << "\n" << told;
    if (!device().is_cuda()) {
      EXPECT_NE(told.find("rows, by rule: one loop on the CPU"), std::string::npos) << told;
    }
  }
}

TEST_P(TrainSddmmOptions, ANamedAlgorithmRuns) {
  for (const SddmmAlgorithm algorithm : {SddmmAlgorithm::kRows, SddmmAlgorithm::kEdges})
    for (TrainOptions options : models()) {
      options.sddmm = algorithm;
      const NodeRun run = train(options);
      EXPECT_NE(run.model.algorithms.find(str("gradient of weights by sddmm ", algorithm)), std::string::npos)
          << run.model.algorithms;
      EXPECT_EQ(format_sddmm_choices(algorithm, run.model.adj), str("sddmm ", algorithm, ": asked for\n"));
      EXPECT_EQ(has_cached_edge_rows(run.model.adj),
                device().is_cuda() && algorithm == SddmmAlgorithm::kEdges)
          << options.model << " " << algorithm;
    }
}

}  // namespace
}  // namespace rodeo::test
