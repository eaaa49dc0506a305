// Epochs of sampled mini-batches on graphs of several node types: those of the training commands.
#include "bench/sample_run.h"

#include <cmath>

#include "bench/hetero_graph.h"
#include "tests/support/devices.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::bench {
namespace {

using BenchSampleRun = test::OnDevice;
RODEO_ON_ALL_DEVICES(BenchSampleRun);

TEST_P(BenchSampleRun, RelationsAreTrainedAsByTheCommands) {
  const SampleSettings settings{.graph = "igbh-tiny/2000",
                                .model = "rgat",
                                .batch = 12,
                                .heads = 2,
                                .hidden = 8,
                                .fanout = {3, 2},
                                .epochs = 1,
                                .device = device()};
  const SampleData data{.name = "igbh-tiny/2000", .hetero = draw_hetero_graph(settings.graph)};
  verify_batches(settings, data);
  SampleRun run(settings, data);
  const std::int64_t train = data.hetero.types[0].split.train.numel();
  EXPECT_EQ(run.num_batches(), (train + 11) / 12);
  const std::vector<EpochReport> reports = run.train(3);
  ASSERT_EQ(reports.size(), 3U);
  const BatchTotals& parts = *reports.back().batches;
  EXPECT_EQ(parts.batches, run.num_batches());
  EXPECT_GT(parts.edges, parts.batches * 12);
  EXPECT_GT(parts.sample_ms, 0);
  EXPECT_GT(parts.gather_ms, 0);
  EXPECT_GT(parts.train_ms, 0);

  TrainOptions options = published_options("rgat");
  options.undirected = true, options.heads = 2, options.hidden = 4;
  options.trunk.pre_linear = 0;  // all types have features of one width
  options.batch = 12, options.fanout = "3,2";
  const NodeRun command = make_hetero_run(data.hetero, options, device());
  double loss = 0;
  make_trainer(command, {.epochs = 1}).fit([&](const EpochReport& report) { loss = report.loss; });
  EXPECT_EQ(loss, reports.front().loss);

  SampleSettings wide = settings;
  wide.dtype = DType::kBF16;
  EXPECT_TRUE(std::isfinite(SampleRun(wide, first_batches(wide, data, 2)).loss(true)));
}

TEST(BenchHeteroGraph, HasANthOfTheSizes) {
  EXPECT_TRUE(is_hetero_graph("mag"));
  EXPECT_TRUE(is_hetero_graph("igbh-small/7"));
  EXPECT_FALSE(is_hetero_graph("papers100M/7"));
  const HeteroDataset part = draw_hetero_graph("igbh-tiny/1000");
  EXPECT_EQ(part.name, "igbh-tiny-like/1000");
  EXPECT_NEAR(static_cast<double>(part.num_nodes()), 550, 2);
  for (const Dataset& type : part.types) EXPECT_EQ(type.num_features, 1024) << type.name;
  EXPECT_THROW(draw_hetero_graph("mag/0"), Error);
}

}  // namespace
}  // namespace rodeo::bench
