// --edge-features: GINE and GATv2 of nodes read edge_attr.
#include <gtest/gtest.h>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/parse_options.h"
#include "train/commands/predict.h"
#include "train/commands/recorder.h"
#include "train/task/memory_estimate.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

class TrainEdgeFeatures : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainEdgeFeatures);

/// The label of a node is written on the edges to it, and nowhere else.
Dataset labelled_edges() {
  Dataset data = tiny_dataset(200);
  data.x = Tensor::full({data.num_nodes, 2}, 1);
  data.num_features = 2;
  const Tensor dst = data.dst.to(DType::kI64);
  data.edge_attr = Tensor::zeros({data.num_edges(), data.num_classes});
  for (std::int64_t e = 0; e < data.num_edges(); ++e)
    data.edge_attr
        .data<float>()[e * data.num_classes + data.y.data<std::int64_t>()[dst.data<std::int64_t>()[e]]] = 1;
  return data;
}

TrainOptions edge_options(std::string_view model) {
  TrainOptions options = published_options(model);
  options.edge_features = true;
  options.dropout = options.attention_dropout = 0;
  options.layers = model == "gin" ? 1 : 2;
  options.epochs = 60;
  return options;
}

TEST_P(TrainEdgeFeatures, GineLearnsWhatIsOnTheEdgesAlone) {
  const TrainOptions options = edge_options("gin");
  const NodeRun run = make_run(labelled_edges(), options, device());
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  EXPECT_GT(trainer.fit().best.test, 0.9);
}

// Attention weights a mean of equal features: the result says that the terms are read, not what they mean.
TEST_P(TrainEdgeFeatures, Gatv2ReadsThem) {
  const TrainOptions options = edge_options("gatv2");
  Dataset data = labelled_edges();
  data.x = random_tensor({data.num_nodes, 2}, DType::kF32, kCpu);
  TrainOptions rows = options;
  rows.normalize_features = FeatureScaling::kNone;
  const NodeRun run = make_run(data, rows, device());
  data.edge_attr.fill(0);
  const NodeRun other = make_run(data, rows, device());
  EXPECT_GT(estimate_step_bytes(run, rows), 0);
  const NoGrad no_grad;
  run.model.module->eval();
  other.model.module->eval();
  EXPECT_FALSE(same_bits(run.model.forward().value(), other.model.forward().value()));
}

TEST_P(TrainEdgeFeatures, SelfLoopsAreAdded) {
  Dataset data = labelled_edges();
  TrainOptions options = edge_options("gatv2");
  options.normalize_features = FeatureScaling::kNone;
  const NodeRun run = make_run(data, options, device());
  const Adjacency looped = run.model.adj;
  EXPECT_EQ(looped.num_edges(), data.num_edges() + data.num_nodes);
  EXPECT_EQ(run.task.num_edge_features, data.num_classes);
}

TEST(TrainEdgeFeatureErrors, NameTheOption) {
  EXPECT_ERROR(make_run(tiny_dataset(), edge_options("gin"), kCpu),
               "cora-like: has no /edge_attr, which --edge-features reads");
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "g.h5", "--edge-features"});
    TrainOptions defaults;
    defaults.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), defaults);
  };
  EXPECT_TRUE(parse({"--model", "gatv2"}).edge_features);
  EXPECT_ERROR(parse({"--model", "gin", "--reorder", "rcm"}),
               "--edge-features is not for --reorder, which keeps no edge features");
  EXPECT_THROW(parse({"--model", "gcn"}), Error);
}

TEST(TrainEdgeFeatureFiles, WeightsAreUsedWithTheEdgesOfAFile) {
  const TempDir dir;
  const Dataset data = labelled_edges();
  save_dataset(data, dir / "g.h5");
  TrainOptions options = edge_options("gin");
  options.epochs = 3;
  options.export_file = dir / "w.safetensors";
  const NodeRun run = make_run(data, options, kCpu);
  Recorder recorder(options);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  recorder.start(run, trainer, "here");
  recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
  PredictOptions wanted;
  wanted.dataset = dir / "g.h5";
  wanted.weights = dir / "w.safetensors";
  wanted.out = dir / "p.csv";
  wanted.device = "cpu";
  wanted.quiet = true;
  predict(wanted);
  EXPECT_TRUE(std::filesystem::exists(dir / "p.csv"));
}

}  // namespace
}  // namespace rodeo::test
