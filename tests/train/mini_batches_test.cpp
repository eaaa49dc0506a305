#include "train/mini_batches.h"

#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "train/commands/parse_options.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/task/trunk_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainMiniBatches : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainMiniBatches);

/// 400 nodes, 80 of them for training.
Dataset small_graph() {
  SyntheticOptions size;
  size.nodes = 400;
  size.edges = 3000;
  size.features = 12;
  size.classes = 4;
  size.train_per_class = 20;
  size.val = size.test = 100;
  return synthesize(size);
}

TrainOptions options(std::int64_t batch, const std::string& fanout, double dropout) {
  TrainOptions options = published_options("sage");
  options.dropout = dropout;
  options.batch = batch;
  options.fanout = fanout;
  return options;
}

struct Outcome {
  std::vector<double> losses;
  TrainSummary summary;
  TrainerState state;
};

Outcome train(const TrainOptions& options, Device device, int epochs, const TrainerState* from = nullptr,
              const Module* weights = nullptr, bool cuda_graph = true) {
  const NodeRun run = make_run(small_graph(), options, device);
  Trainer trainer = make_trainer(run, {.epochs = epochs, .cuda_graph = cuda_graph});
  if (from) trainer.restore(*from);
  if (weights) run.model.module->load_state_dict(weights->state_dict());
  Outcome out;
  out.summary = trainer.fit([&](const EpochReport& report) { out.losses.push_back(report.loss); });
  out.state = trainer.state();
  return out;
}

// With one batch of all training nodes and all their neighbours, an epoch is a step over the whole graph.
TEST_P(TrainMiniBatches, OneBatchOfAllNeighboursIsFullBatchTraining) {
  const Outcome whole = train(options(0, "", 0), device(), 20);
  const Outcome batch = train(options(1000, "-1,-1", 0), device(), 20);
  ASSERT_EQ(whole.losses.size(), batch.losses.size());
  for (std::size_t i = 0; i < whole.losses.size(); ++i)
    EXPECT_NEAR(batch.losses[i], whole.losses[i], 1e-4 * whole.losses[0]) << i;
}

// Models whose layers are those of a trunk. A residual makes both runs use it.
TEST_P(TrainMiniBatches, AllNeighboursOfATrunkAreTheWholeGraph) {
  for (const char* model : {"gcn", "gat", "gatv2", "transformer", "gin", "sage"}) {
    const auto of = [&](std::int64_t batch, const std::string& fanout) {
      TrainOptions out = published_options(model);
      out.hidden = 8;
      out.dropout = out.attention_dropout = 0;
      out.trunk.residual = true;
      out.trunk.norm = TrunkNorm::kLayer;
      out.batch = batch;
      out.fanout = fanout;
      return out;
    };
    // GIN normalises over the rows of a batch, of which a whole graph has others.
    const int epochs = std::string_view(model) == "gin" ? 1 : 20;
    const Outcome whole = train(of(0, ""), device(), epochs),
                  batch = train(of(1000, "-1,-1"), device(), epochs);
    ASSERT_EQ(whole.losses.size(), batch.losses.size());
    for (std::size_t i = 0; i < whole.losses.size(); ++i)
      EXPECT_NEAR(batch.losses[i], whole.losses[i], (epochs == 1 ? 0.2 : 2e-4) * whole.losses[0])
          << model << " " << i;
  }
}

// In page-locked memory, without a cache, with a cache of all rows (that of tiny_dataset() is below 1 MiB)
// and with half of the device.
TEST_P(TrainMiniBatches, FeaturesOnTheHostGiveTheSameBits) {
  for (const char* model : {"sage", "gcn"})
    for (const bool parts : {false, true}) {
      TrainOptions of = published_options(model);
      of.batch = 16;
      of.features = FeatureForm::kDense;
      of.batch_by_parts = parts;
      if (!parts) of.fanout = "5,3";
      of.features_on = FeaturesOn::kDevice;
      const Outcome want = train(of, device(), 6);
      of.features_on = FeaturesOn::kHost;
      for (const std::int64_t mib : {0, 1, -1}) {
        of.feature_cache_mib = mib;
        const Outcome host = train(of, device(), 6);
        EXPECT_EQ(host.losses, want.losses) << model << " " << mib;
        EXPECT_EQ(host.summary.best.val, want.summary.best.val) << model << " " << mib;
      }
    }
}

TEST_P(TrainMiniBatches, EveryModelLearnsFromSamples) {
  for (const char* model : {"gcn", "gat", "gatv2", "transformer", "gin", "sage"}) {
    TrainOptions of = published_options(model);
    of.batch = 20;
    of.fanout = "6,4";
    const Outcome first = train(of, device(), 30), second = train(of, device(), 30);
    EXPECT_LT(first.losses.back(), 0.9 * first.losses.front()) << model;
    EXPECT_GT(first.summary.best.val, 0.5) << model;
    EXPECT_EQ(first.losses, second.losses) << model;
  }
}

// 80 training nodes are a batch of 79 and one node, of which batch normalisation has no statistics.
TEST_P(TrainMiniBatches, ALastBatchOfOneNodeJoinsTheOneBeforeForBatchNorm) {
  for (const char* model : {"gcn", "gat", "sage", "gin"}) {
    SCOPED_TRACE(model);
    TrainOptions of = published_options(model);
    of.batch = 79;
    of.fanout = "1,1";
    of.trunk.norm = TrunkNorm::kBatch;
    of.trunk.post_linear = true;
    EXPECT_EQ(train(of, device(), 3).summary.batches->batches, 1);
    of.batch = 78;
    EXPECT_EQ(train(of, device(), 3).summary.batches->batches, 2);
  }
  TrainOptions without = options(79, "1,1", 0.5);
  EXPECT_EQ(train(without, device(), 3).summary.batches->batches, 2);
}

// On CUDA the batches of 16 replay one CUDA graph; a last batch is smaller.
TEST_P(TrainMiniBatches, SameBitsWithoutACudaGraph) {
  for (const std::int64_t batch : {16, 33}) {
    const Outcome replayed = train(options(batch, "5,3", 0.5), device(), 6),
                  op_by_op = train(options(batch, "5,3", 0.5), device(), 6, nullptr, nullptr, false);
    EXPECT_EQ(replayed.losses, op_by_op.losses) << "batches of " << batch;
    EXPECT_EQ(op_by_op.summary.kernels, 0);
    EXPECT_EQ(replayed.summary.kernels > 0, device().is_cuda());
  }
}

// One part has all nodes and all edges.
TEST_P(TrainMiniBatches, OnePartIsFullBatchTraining) {
  TrainOptions parts = options(1000, "", 0);
  parts.batch_by_parts = true;
  const Outcome whole = train(options(0, "", 0), device(), 20), part = train(parts, device(), 20);
  ASSERT_EQ(whole.losses.size(), part.losses.size());
  for (std::size_t i = 0; i < whole.losses.size(); ++i)
    EXPECT_NEAR(part.losses[i], whole.losses[i], 1e-4 * whole.losses[0]) << i;
}

TEST_P(TrainMiniBatches, PartsLearnAndRepeat) {
  TrainOptions parts = options(130, "", 0.5);
  parts.batch_by_parts = true;
  const Outcome run = train(parts, device(), 80);
  EXPECT_EQ(run.state.optimizer.steps.to_vector<std::int64_t>().back(), 80 * 4) << "400 nodes are four parts";
  EXPECT_LT(run.losses.back(), 0.8 * run.losses.front());
  EXPECT_EQ(run.losses, train(parts, device(), 80).losses);
}

TEST_P(TrainMiniBatches, AllModelsTrainOnParts) {
  for (const char* model : {"gcn", "gat", "gatv2", "gin"}) {
    TrainOptions parts = published_options(model);
    parts.dropout = parts.attention_dropout = 0;
    parts.batch = 130;
    parts.batch_by_parts = true;
    const Outcome run = train(parts, device(), 30);
    EXPECT_LT(run.losses.back(), 0.8 * run.losses.front()) << model;
  }
}

// Exported weights have the options of their model, of which prediction knows no --batch.
TEST(TrainMiniBatchOptions, WeightsSayThatTheyAreOfATrunk) {
  for (const auto& [model, batch, want] :
       {std::tuple("gcn", 64, true), {"gat", 64, true}, {"sage", 64, false}, {"gcn", 0, false}}) {
    TrainOptions given = published_options(model);
    given.batch = batch;
    TrainOptions read = published_options(model);
    for (const TrainOption& option : option_table(given))
      if (option.is(OptionRole::kModel) && option.name == "trunk")
        option.set(read, to_text(option.get(given)));
    EXPECT_EQ(uses_trunk(read), want) << model << " " << batch;
  }
}

TEST_P(TrainMiniBatches, EveryBatchIsAStep) {
  const Outcome run = train(options(32, "5,3", 0.5), device(), 40);
  const std::vector<std::int64_t> steps = run.state.optimizer.steps.to_vector<std::int64_t>();
  EXPECT_EQ(steps.back(), 40 * 3) << "80 training nodes are three batches of 32";
  EXPECT_LT(run.losses.back(), 0.6 * run.losses.front());
  EXPECT_GT(run.summary.best.val, 0.5);
}

// Sizes are reported in every epoch, times in profiled ones, and each batch is announced.
TEST_P(TrainMiniBatches, ReportsBatches) {
  const NodeRun run = make_run(small_graph(), options(32, "5,3", 0.5), device());
  std::vector<std::vector<int>> started;
  TrainerOptions training{.epochs = 4, .warmup_epochs = 1, .profile_every = 4};
  training.on_batch = [&](int epoch, int batch, int batches) { started.push_back({epoch, batch, batches}); };
  Trainer trainer = make_trainer(run, training);
  const TrainSummary summary = trainer.fit([&](const EpochReport& report) {
    ASSERT_TRUE(report.batches);
    EXPECT_EQ(report.batches->batches, 3);
    EXPECT_GT(report.batches->nodes, 160) << "the targets, and more neighbours than these";
    EXPECT_GT(report.batches->edges, 80);
    EXPECT_LE(report.batches->edges, 80 * 5 + 80 * 6 * 3);
    EXPECT_EQ(report.batches->train_ms > 0, report.epoch == 2) << "epoch 2 of 4 is profiled";
    EXPECT_EQ(report.batches->sample_ms > 0, report.epoch == 2);
    EXPECT_EQ(report.batches->gather_ms > 0, report.epoch == 2);
    EXPECT_EQ(report.batches->wait_ms > 0, report.epoch != 2);
  });
  ASSERT_EQ(started.size(), 12u);
  EXPECT_EQ(started[4], (std::vector{2, 2, 3}));
  ASSERT_TRUE(summary.batches);
  EXPECT_GT(summary.batches->train_ms, 0);
  EXPECT_EQ(summary.wait_ms.count, 2) << "epoch 1 is a warm-up";
}

TEST_P(TrainMiniBatches, SameBitsInEveryRun) {
  const TrainOptions sampled = options(32, "5,3", 0.5);
  EXPECT_EQ(train(sampled, device(), 6).losses, train(sampled, device(), 6).losses);
  TrainOptions other = sampled;
  other.replace = true;
  EXPECT_NE(train(other, device(), 6).losses, train(sampled, device(), 6).losses);
}

TEST_P(TrainMiniBatches, AResumedRunHasTheSameBits) {
  const TrainOptions sampled = options(32, "5,3", 0.5);
  const NodeRun run = make_run(small_graph(), sampled, device());
  Trainer first = make_trainer(run, {.epochs = 4});
  first.fit();
  const TrainerState state = first.state();
  const Outcome rest = train(sampled, device(), 9, &state, run.model.module.get());
  const Outcome whole = train(sampled, device(), 9);
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 4, whole.losses.end()));
}

TEST(TrainMiniBatchOptions, AreChecked) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "x.h5"});
    TrainOptions any;
    any.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), any);
  };
  EXPECT_EQ(parse({"--model", "sage", "--batch", "64", "--fanout", "15,-1"}).fanout, "15,-1");
  EXPECT_ERROR(parse({"--model", "sage", "--fanout", "5,5"}),
               "--fanout is for mini-batches: give --batch N too");
  EXPECT_ERROR(parse({"--model", "sage", "--replace"}), "--replace is for mini-batches: give --batch N too");
  EXPECT_ERROR(parse({"--model", "sage", "--batch", "64", "--fanout", "5,5,5"}),
               "--fanout needs a number for each of the 2 layers, got '5,5,5'");
  EXPECT_ERROR(parse({"--model", "sage", "--batch-by", "parts"}),
               "--batch-by is for mini-batches: give --batch N too");
  EXPECT_ERROR(parse({"--model", "sage", "--batch", "64", "--batch-by", "parts", "--fanout", "5,5"}),
               "--fanout and --replace are for --batch-by neighbours: parts have all edges between their "
               "nodes");
  EXPECT_ERROR(parse({"--model", "sage", "--eval", "sampled"}),
               "--eval is for mini-batches: give --batch N too");
  EXPECT_ERROR(parse({"--model", "sage", "--batch", "64", "--batch-by", "parts", "--eval", "sampled"}),
               "--eval sampled is for --batch-by neighbours: parts have no --fanout");
  for (const char* bad : {"5,", "0,5", "5;5", "5,-1x", "a"})
    EXPECT_ERROR(
        parse({"--model", "sage", "--batch", "64", "--fanout", bad}),
        str("--fanout must be positive numbers, or -1 for all neighbours (not with --replace), got '", bad,
            "'"));
  EXPECT_ERROR(parse({"--model", "sage", "--batch", "64", "--features", "sparse"}),
               "--features sparse: --batch gathers rows of dense features");
  EXPECT_ERROR(parse({"--model", "sgc", "--batch", "64"}),
               "unknown option '--batch' for the model sgc: it is of gcn, gat, gatv2, transformer, sage, "
               "gin, gcn2, pna and mlp");
}

}  // namespace
}  // namespace rodeo::test
