// Mini-batches over ranks: shares of a batch train as the whole batch does on one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "datasets/feature_file.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "tests/ranks/trained.h"
#include "tests/support/tiny.h"
#include "train/batch_sampler.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;

struct Trained {
  std::vector<double> losses;
  TrainSummary summary;
  StateDict weights;
  TrainerState state;
  std::vector<std::int64_t> edges;  // of each epoch
};

struct Start {
  const Trained* from = nullptr;  // goes on from there
  std::optional<std::pair<int, int>> ends =
      {};              // behind this batch of this epoch, without an answer of fit()
  bool stops = false;  // by TrainerOptions::stop of the last rank, as soon as it is asked
};
struct Ended {};

Trained train(const TrainOptions& options, const Communicator& over, const Start& start = {}) {
  const NodeRun run = options.dataset.empty() ? make_run(test::tiny_dataset(), options, test::device(), over)
                                              : load_run(options, test::device(), over);
  TrainerOptions training = trainer_options(options);
  Trained out;
  Trainer* trainer = nullptr;
  const auto keep = [&] {
    out.weights = run.model.module->state_dict();
    out.state = trainer->state();
  };
  training.on_batch = [&](int epoch, int batch, int) {
    if (start.ends != std::pair(epoch, batch)) return;
    keep();
    throw Ended{};
  };
  if (start.stops) training.stop = [&] { return over.rank() == over.size() - 1; };
  Trainer trains = make_trainer(run, training);
  trainer = &trains;
  if (start.from) {
    run.model.module->load_state_dict(start.from->weights);
    trains.restore(start.from->state);
  }
  try {
    out.summary = trains.fit([&](const EpochReport& report) {
      out.losses.push_back(report.loss);
      out.edges.push_back(report.batches->edges);
    });
    keep();
  } catch (const Ended&) {
  }
  return out;
}

TrainOptions options_of(std::string_view model, std::int64_t batch = 32) {
  TrainOptions options = published_options(model);
  options.epochs = 6;
  options.lr = 0.001;
  options.dropout = options.attention_dropout = 0;
  options.batch = batch;
  options.fanout = "4,3";
  return options;
}

void expect_as_on_one_rank(const TrainOptions& options, double tolerance = 1e-4) {
  const Trained one = train(options, Communicator()), all = train(options, ranks());
  ASSERT_EQ(one.losses.size(), all.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], tolerance * one.losses[i]) << "epoch " << i + 1;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss, tolerance * one.summary.last.val_loss);
  EXPECT_NEAR(all.summary.last.test, one.summary.last.test, 0.03);
  test::expect_same_on_all_ranks(all.weights);
}

// 150 training nodes: four batches of 32 and one of 22; 64, 64 and 22; of one and of two nodes.
TEST(TrainRankBatches, SharesOfABatchTrainAsTheBatch) {
  for (const std::string_view model : {"sage", "gcn", "gat", "gatv2", "transformer"})
    for (const std::int64_t batch : {32, 64, 1000}) {
      SCOPED_TRACE(str(model, ", batches of ", batch));
      expect_as_on_one_rank(options_of(model, batch));
    }
  for (const std::int64_t batch : {1, 2, 3, 7}) {
    SCOPED_TRACE(str("batches of ", batch));
    TrainOptions options = options_of("sage", batch);
    options.epochs = 2;
    expect_as_on_one_rank(options);
  }
}

TEST(TrainRankBatches, OptionsThatReachBatches) {
  const auto with = [](std::string_view model, const std::function<void(TrainOptions&)>& set) {
    TrainOptions options = options_of(model);
    set(options);
    expect_as_on_one_rank(options);
  };
  with("sage", [](TrainOptions& o) { o.eval_sampled = true; });
  with("sage", [](TrainOptions& o) { o.replace = true; });
  with("sage", [](TrainOptions& o) { o.clip_norm = 0.01; });
  with("sage", [](TrainOptions& o) { o.class_weights = "balanced", o.label_smoothing = 0.1; });
  with("sage", [](TrainOptions& o) { o.metric = NodeMetric::kMacroF1; });
  with("sage", [](TrainOptions& o) { o.cuda_graph = false; });
  with("gcn", [](TrainOptions& o) { o.trunk.norm = TrunkNorm::kLayer, o.trunk.residual = true; });
  with("gat", [](TrainOptions& o) { o.trunk.jump = TrunkJump::kCat; });
}

// Masks are functions of their keys: ranks with the same ones would drop the same places of their shares.
TEST(TrainRankBatches, RanksDrawMasksOfTheirOwn) {
  const NodeRun run = make_run(test::tiny_dataset(), options_of("sage"), test::device(), ranks());
  TrainerParts parts = trainer_parts(run);
  Random random(1);
  std::set<std::uint64_t> streams;
  parts.forward = [&, forward = parts.forward](const StepInput& in) {
    if (in.batch) streams.insert(random.next().stream);  // of the first mask of each step
    return forward(in);
  };
  Trainer(*run.model.module, std::move(parts), run.model.groups, {.epochs = 1}).fit();
  EXPECT_EQ(streams, std::set{static_cast<std::uint64_t>(ranks().rank()) << 20});
}

// Batch normalisation is over the rows of each rank, and the ranks' statistics are averaged.
TEST(TrainRankBatches, BatchNormLearnsAndRanksAgree) {
  for (const std::string_view model : {"gin", "gcn"})
    for (const std::int64_t batch : {32, 2}) {
      SCOPED_TRACE(str(model, ", batches of ", batch));
      TrainOptions options = options_of(model, batch);
      options.trunk.norm = model == "gcn" ? TrunkNorm::kBatch : TrunkNorm::kNone;
      options.lr = batch == 32 ? 0.01 : 0.001;
      options.epochs = batch == 32 ? 20 : 2;
      const Trained all = train(options, ranks());
      test::expect_same_on_all_ranks(all.weights);
      if (batch == 32) {
        EXPECT_LT(all.losses.back(), 0.8 * all.losses.front());
        // A mean of the ranks' statistics: a sum would grow with each step.
        const StateDict one = train(options, Communicator()).weights;
        for (std::size_t i = 0; i < one.size(); ++i)
          if (one[i].first.ends_with("running_var")) {
            EXPECT_LT(std::ranges::max(test::doubles(all.weights[i].second)),
                      5 * std::ranges::max(test::doubles(one[i].second)))
                << one[i].first;
          }
      }
      test::expect_same_bits(all.weights, train(options, ranks()).weights);
    }
}

// Each part is one rank's. A rank without one repeats the first of the step, and does not count.
TEST(TrainRankBatches, PartsAreOfOneRankEach) {
  std::vector<std::int64_t> ids(70);
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor nodes = Tensor::from(ids);
  const Adjacency graph = coo_to_csr(nodes, nodes, 70, 70).adj;
  PartBatchSampler sampler(NodeParts(graph, nodes, 10, 1), ranks());  // 7 parts
  std::vector<double> seen(70);
  for (const BatchSampler::Step& step : sampler.epoch(1, 0)) {
    std::vector<double> own(70);
    for (const std::int64_t id : step.examples) own[static_cast<std::size_t>(id)] = step.counts ? 1 : 0;
    const Tensor all = Tensor::from(own);
    ranks().all_reduce(all);
    std::vector<double> want(70);
    for (const std::int64_t id : step.of_all) want[static_cast<std::size_t>(id)] = 1;
    EXPECT_EQ(all.to_vector<double>(), want);
    EXPECT_TRUE(step.counts || std::equal(step.examples.begin(), step.examples.end(), step.of_all.begin()));
    for (std::size_t i = 0; i < 70; ++i) seen[i] += want[i];
  }
  EXPECT_EQ(seen, std::vector<double>(70, 1));
}

// With as many ranks as one, a part a step; else the parts of a step together.
TEST(TrainRankBatches, Parts) {
  TrainOptions options = options_of("gcn", 1000);
  options.batch_by_parts = true;
  options.fanout.clear();
  expect_as_on_one_rank(options);        // one part: the other ranks repeat it with weight 0
  options.batch = 70;                    // five parts of 60 nodes
  options.epochs = 30 * ranks().size();  // the more parts a step, the fewer steps an epoch has
  options.lr = 0.01;
  const Trained all = train(options, ranks());
  const std::int64_t steps = (5 + ranks().size() - 1) / ranks().size();
  EXPECT_EQ(all.state.optimizer.steps.to_vector<std::int64_t>().back(), options.epochs * steps);
  EXPECT_LT(all.losses.back(), 0.8 * all.losses.front());
  test::expect_same_on_all_ranks(all.weights);
}

TEST(TrainRankBatches, SameBitsInEveryRun) {
  for (const std::string_view model : {"sage", "gat"}) {
    TrainOptions options = options_of(model);
    options.dropout = 0.5;
    const Trained first = train(options, ranks());
    for (int run = 1; run < 5; ++run) {
      const Trained again = train(options, ranks());
      EXPECT_EQ(again.losses, first.losses);
      test::expect_same_bits(again.weights, first.weights);
    }
    options.cuda_graph = false;
    EXPECT_EQ(train(options, ranks()).losses, first.losses) << "on a GPU, without a CUDA graph";
  }
}

TEST(TrainRankBatches, GoesOnWithinAnEpoch) {
  for (const std::string_view model : {"sage", "gin"}) {
    SCOPED_TRACE(model);
    TrainOptions options = options_of(model);
    options.dropout = 0.5;
    const Trained whole = train(options, ranks());
    const Trained first = train(options, ranks(), {.ends = std::pair(3, 2)});
    EXPECT_EQ(first.state.epoch, 2);
    EXPECT_EQ(first.state.batch, 2);
    const Trained rest = train(options, ranks(), {.from = &first});
    EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 2, whole.losses.end()));
    test::expect_same_bits(rest.weights, whole.weights);
    EXPECT_EQ(rest.summary.best_epoch, whole.summary.best_epoch);
  }
  // On one rank, up to rounding.
  const TrainOptions options = options_of("sage");
  const Trained whole = train(options, ranks());
  const Trained first = train(options, ranks(), {.ends = std::pair(3, 2)});
  const Trained rest = train(options, Communicator(), {.from = &first});
  for (std::size_t i = 0; i < rest.losses.size(); ++i)
    EXPECT_NEAR(rest.losses[i], whole.losses[i + 2], 1e-4 * whole.losses[i + 2]);
}

// Features that ranks of a host share, features in the file, features cut among ranks, edges in host memory.
TEST(TrainRankBatches, AllPlacesHaveTheSameBits) {
  const std::string path = test::shared_path("batches.h5");
  if (ranks().rank() == 0) {
    save_dataset(test::tiny_dataset(), path + ".packed");
    unpack_features(path + ".packed", path);
  }
  ranks().barrier();
  for (const std::string_view model : {"sage", "gcn"})
    for (const bool sampled : {false, true}) {
      SCOPED_TRACE(str(model, sampled ? ", evaluated on samples" : ""));
      TrainOptions options = options_of(model);
      options.dataset = path;
      options.eval_sampled = sampled;
      options.features_on = FeaturesOn::kDevice, options.graph_on = GraphOn::kDevice;
      const Trained expected = train(options, ranks());
      for (const FeaturesOn features :
           {FeaturesOn::kAuto, FeaturesOn::kHost, FeaturesOn::kDisk, FeaturesOn::kPeers})
        for (const GraphOn graph : {GraphOn::kDevice, GraphOn::kHost, GraphOn::kPeers}) {
          const bool peers = features == FeaturesOn::kPeers || graph == GraphOn::kPeers;
          if (peers && ranks().size() == 1) continue;
          SCOPED_TRACE(str(name(features), ", ", name(graph)));
          options.features_on = features, options.graph_on = graph;
          const Trained got = train(options, ranks());
          EXPECT_EQ(got.losses, expected.losses);
          EXPECT_EQ(got.summary.last.test, expected.summary.last.test);
          test::expect_same_bits(got.weights, expected.weights);
        }
    }
}

// All ranks stop behind the same batch, and go on behind it.
TEST(TrainRankBatches, StopTogether) {
  TrainOptions options = options_of("sage");
  options.epochs = 100'000;
  const Trained first = train(options, ranks(), {.stops = true});
  EXPECT_TRUE(first.summary.stopped);
  test::expect_same_on_all_ranks(first.weights);
  options.epochs = first.summary.epochs + 1;
  const Trained rest = train(options, ranks(), {.from = &first}), whole = train(options, ranks());
  EXPECT_EQ(rest.losses, std::vector{whole.losses.back()});
  test::expect_same_bits(rest.weights, whole.weights);
}

// Every rank samples, and the report counts the edges of all.
TEST(TrainRankBatches, CountsTheEdgesOfAllRanks) {
  RODEO_NEEDS_TWO_RANKS();
  TrainOptions options = options_of("sage", 1000);
  options.layers = 1, options.fanout = "1000";
  options.epochs = 1;
  const Trained one = train(options, Communicator()), all = train(options, ranks());
  EXPECT_EQ(all.edges, one.edges) << "each target's edges are sampled by one rank";
}

TEST(TrainRankBatches, EvaluationsHaveTheBitsOfOneRank) {
  const Dataset data = test::tiny_dataset();
  const Adjacency graph = to_graph(data, test::device()).adj;
  const Tensor x = dense_features(data).to(test::device());
  const auto logits = [&](std::int64_t chunk, const Communicator& over) {
    LayerwiseModel model;
    for (int layer = 0; layer < 2; ++layer)
      model.layers.emplace_back([](const Block& block, const Features& h, const Variable&) {
        const Tensor rows = h.input().value();
        return Variable(rows.slice(0, block.adj.rows()).clone());
      });
    const LayerwiseEvaluation evaluation(graph, x, std::move(model), chunk, over);
    return evaluation.logits().value();
  };
  for (const std::int64_t chunk : {1, 900, 100'000}) {
    const Tensor one = logits(chunk, Communicator());
    EXPECT_TRUE(test::same_bits(one, x));
    EXPECT_TRUE(test::same_bits(logits(chunk, ranks()), one)) << chunk;
  }
  for (const std::string_view model : {"sage", "gat"}) {
    TrainOptions options = options_of(model);
    options.eval_sampled = true;
    options.batch = 64;
    const auto sampled = [&](const Communicator& over) {
      const NodeRun run = make_run(data, options, test::device(), over);
      run.model.module->eval();
      const NoGrad no_grad;
      return run.model.forward().value();
    };
    EXPECT_TRUE(test::same_bits(sampled(ranks()), sampled(Communicator())));
  }
}

}  // namespace
}  // namespace rodeo
