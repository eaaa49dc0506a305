// --task link over ranks: an encoder of the sharded graph and shares of the pairs, against one rank.
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/ranks/trained.h"
#include "tests/support/steps.h"
#include "tests/support/tiny.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;
using test::train;
using test::Trained;

TrainOptions pair_options(std::string_view model) {
  TrainOptions options = published_options(model, TaskKind::kLink);
  options.epochs = 6;  // on a GPU the last two replay a CUDA graph
  options.lr = 0.001;
  options.hidden = options.embedding = 16;
  options.spmm = SpmmAlgorithm::kRode;
  return options;
}

/// Gradients of the first step, summed over ranks, and its loss.
std::pair<std::vector<Tensor>, double> first_step(const Dataset& data, const TrainOptions& options,
                                                  const Communicator& over) {
  const NodeRun run = make_run(data, options, test::device(), over);
  const NodePartition* nodes = run.task.partition.get();
  const Tensor done = Tensor::zeros({1}, DType::kI64, test::device());
  run.model.module->train();
  const RandomStep step(done.data<std::int64_t>(), nodes ? nodes->first_row() : 0);
  const ScopedPartition scope(nodes);
  const Variable loss = test::Steps(run).part_of_loss();
  loss.backward();
  const Tensor sum = loss.value().clone();
  over.all_reduce(sum);
  return {test::summed_gradients(*run.model.module, over), sum.item()};
}

/// metrics: how far they may differ. One of the 60 test pairs is 1/60.
void expect_pairs_as_on_one_rank(const Dataset& data, const TrainOptions& options, double tolerance = 1e-4,
                                 double metrics = 0.01) {
  const auto [expected, loss] = first_step(data, options, Communicator());
  const auto [got, same_loss] = first_step(data, options, ranks());
  EXPECT_NEAR(same_loss, loss, 1e-5 * loss);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(test::near(got[i], test::doubles(expected[i]), 1e-3, 1e-5)) << "gradient " << i;
  const Trained one = train(data, options, Communicator()), all = train(data, options, ranks());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], tolerance * one.losses[i]) << "epoch " << i + 1;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss, tolerance * one.summary.last.val_loss);
  for (std::size_t i = 0; i < one.details.size(); ++i)  // a pair of pairs may change places
    EXPECT_NEAR(all.details[i].second, one.details[i].second, metrics) << one.details[i].first;
  test::expect_same_on_all_ranks(all.weights);
}

// Without dropout: sampled edges are a function of their node, and pairs of the batch.
TEST(TrainRankLinks, BatchesOfEdgesTrainAsOnOneRank) {
  for (const char* model : {"sage", "gcn"}) {
    SCOPED_TRACE(model);
    TrainOptions options = pair_options(model);
    options.dropout = 0;
    options.batch = 40;
    options.fanout = "4,4";
    const Dataset data = test::tiny_dataset();
    const Trained one = train(data, options, Communicator()), all = train(data, options, ranks());
    for (std::size_t i = 0; i < one.losses.size(); ++i)
      EXPECT_NEAR(all.losses[i], one.losses[i], 1e-4 * one.losses[i]) << "epoch " << i + 1;
    test::expect_same_on_all_ranks(all.weights);
    test::expect_same_bits(all.weights, train(data, options, ranks()).weights);
  }
}

TEST(TrainRankLinks, AllEncodersWithDropout) {
  for (const ModelEntry& entry : model_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = pair_options(entry.name);
    if (entry.name == "appnp") options.edge_dropout = 0.3;
    // Biases before a batch normalisation have a gradient of rounding errors, which Adam makes large. PNA's
    // deviation of neighbours that are nearly equal multiplies rounding errors by up to 158.
    const double tolerance = entry.name == "gin" ? 0.01 : entry.name == "pna" ? 1e-3 : 1e-4;
    expect_pairs_as_on_one_rank(test::tiny_dataset(), options, tolerance, tolerance > 1e-4 ? 0.03 : 0.01);
  }
}

TEST(TrainRankLinks, DecodersMetricsAndOrders) {
  const Dataset data = test::tiny_dataset();
  const auto with = [&](const std::function<void(TrainOptions&)>& set) {
    TrainOptions options = pair_options("gcn");
    set(options);
    expect_pairs_as_on_one_rank(data, options);
  };
  with([](TrainOptions& o) { o.decoder = DecoderKind::kMlp; });
  with([](TrainOptions& o) { o.decoder = DecoderKind::kBilinear, o.clip_norm = 0.01; });
  with([](TrainOptions& o) { o.link_metric = kRankingHits, o.hits = 7; });
  with([](TrainOptions& o) { o.reorder = NodeOrder::kDegree; });
  with([](TrainOptions& o) { o.edge_split = "60/20/20"; });
  for (const Aggregation form : {Aggregation::kHalo, Aggregation::kColumns})
    with([form](TrainOptions& o) { o.aggregation = form; });
}

TEST(TrainRankLinks, EdgesOfOneDirection) {
  Dataset data = test::tiny_dataset();
  const std::int64_t edges = data.src.numel() / 2;
  data.src = data.src.slice(0, edges), data.dst = data.dst.slice(0, edges);
  TrainOptions options = pair_options("gcn");
  options.decoder = DecoderKind::kBilinear;
  expect_pairs_as_on_one_rank(data, options);
}

TEST(TrainRankLinks, SameBitsInEveryRun) {
  for (const std::string_view model : {"gcn", "gat"}) {
    const Trained first = train(test::tiny_dataset(), pair_options(model), ranks());
    for (int run = 1; run < 4; ++run) {
      TrainOptions options = pair_options(model);
      options.cuda_graph = run < 3;
      const Trained again = train(test::tiny_dataset(), options, ranks());
      EXPECT_EQ(again.losses, first.losses);
      EXPECT_EQ(again.details, first.details);
    }
  }
}

TEST(TrainRankLinks, GoesOnFromACheckpointAlsoOnOtherRanks) {
  const Dataset data = test::tiny_dataset();
  TrainOptions options = pair_options("gcn");
  const Trained whole = train(data, options, ranks());
  options.epochs = 3;
  const Trained first = train(data, options, ranks());
  options.epochs = 6;
  const Trained rest = train(data, options, ranks(), {.from = &first});
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 3, whole.losses.end()));
  const Trained alone = train(data, options, Communicator(), {.from = &first});
  for (std::size_t i = 0; i < alone.losses.size(); ++i)
    EXPECT_NEAR(alone.losses[i], rest.losses[i], 1e-4 * rest.losses[i]);
}

TEST(TrainRankLinks, AnotherDatasetOnARankIsAnError) {
  RODEO_NEEDS_TWO_RANKS();
  const Dataset data = test::tiny_dataset(300, ranks().rank() == 1 ? 1 : 0);
  test::expect_other_data_is_an_error(data, pair_options("gcn"));
}

// One edge in each part: most ranks have no pair, and some no node.
TEST(TrainRankLinks, RanksWithoutPairs) {
  Dataset data;
  data.name = "pairs";
  data.num_nodes = 8, data.num_features = 3;
  data.src = Tensor::from(std::vector<std::int64_t>{0, 2, 4});
  data.dst = Tensor::from(std::vector<std::int64_t>{1, 3, 5});
  data.x = test::random_tensor({8, 3}, DType::kF32, kCpu);
  for (const DecoderKind decoder : {DecoderKind::kDot, DecoderKind::kMlp}) {
    TrainOptions options = pair_options("gcn");
    options.decoder = decoder;
    options.normalize_features = FeatureScaling::kNone;
    options.edge_split = "34/33/33";
    expect_pairs_as_on_one_rank(data, options);
  }
}

}  // namespace
}  // namespace rodeo
