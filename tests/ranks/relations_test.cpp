// Relations over ranks: fractions of a batch, and ranges of the nodes of each type, train as on one rank.
#include <gtest/gtest.h>

#include "datasets/synthetic_hetero.h"
#include "ops/hetero_shard.h"
#include "tests/ranks/trained.h"
#include "tests/support/devices.h"
#include "tests/support/relations.h"
#include "train/adam.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/rank_shard.h"

namespace rodeo {
namespace {

using test::ranks;

test::Trained train(const HeteroDataset& data, const TrainOptions& options, const Communicator& over) {
  return test::train(make_hetero_run(data, options, test::device(), over), options, over);
}

/// 8 nodes of type a and 5 of type b, cut unevenly; the last rank has the rest.
TypePartitions cut_types() {
  TypePartitions out;
  for (const std::int64_t nodes : {std::int64_t{8}, std::int64_t{5}}) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks().size()));
    rows.front() = ranks().size() > 1 ? 4 : nodes;
    rows.back() += ranks().size() > 1 ? nodes - 4 : 0;
    out.push_back(std::make_shared<const NodePartition>(ranks(), rows));
  }
  return out;
}

HeteroGraph two_types() {
  const auto ids = [](std::vector<std::int32_t> values) { return Tensor::from(values, test::device()); };
  return {
      {{"a", 8}, {"b", 5}},
      {{"a", "to", "b", ids({0, 7, 3, 3}), ids({4, 0, 4, 1})}, {"b", "in", "a", ids({4, 2}), ids({7, 1})}},
      test::device()};
}

TEST(OpsRankRelations, AShardHasTheEdgesIntoTheRanksNodes) {
  const TypePartitions nodes = cut_types();
  const HeteroGraph whole = two_types(), shard = whole.shard(nodes);
  EXPECT_EQ(shard.num_nodes(), 13);
  std::int64_t edges = 0;
  for (int t = 0; t < 2; ++t) {
    EXPECT_EQ(shard.num_rows(t), nodes[static_cast<std::size_t>(t)]->num_rows());
    const Csr &of_rank = shard.stacked().csr(), &all = whole.stacked().csr();
    const std::vector<std::int64_t> own = of_rank.row_ptr.to_vector<std::int64_t>(),
                                    row_ptr = all.row_ptr.to_vector<std::int64_t>();
    for (std::int64_t i = 0; i < shard.num_rows(t); ++i) {
      const auto at = static_cast<std::size_t>(shard.first_row(t) + i),
                 in_all = static_cast<std::size_t>(whole.first_row(t) + rank_nodes(shard, t).begin + i);
      EXPECT_EQ(own[at + 1] - own[at], row_ptr[in_all + 1] - row_ptr[in_all])
          << "type " << t << ", row " << i;
    }
    edges += shard.num_edges(t);
  }
  const Tensor sum = Tensor::from(std::vector{edges});
  ranks().all_reduce(sum);
  EXPECT_EQ(sum.to_vector<std::int64_t>()[0], whole.num_edges());
  EXPECT_ERROR(shard.shard(nodes), "[hetero_graph] a shard needs a graph whose nodes are all destinations");
  EXPECT_ERROR(whole.shard({nodes[0]}), "[hetero_graph] there must be 2 partitions, one a node type, got 1");
  EXPECT_ERROR(whole.shard({nodes[1], nodes[0]}),
               "[hetero_graph] the partition of a must have 8 nodes, got 5");
}

TEST(OpsRankRelations, GatheredNodesAreSortedByTypeAndTheirGradientsSummed) {
  const HeteroGraph shard = two_types().shard(cut_types());
  std::vector<double> own, all, weight, expected;
  std::int64_t first = 0;
  for (int t = 0; t < 2; first += shard.num_nodes(t++)) {
    const auto [begin, count] = rank_nodes(shard, t);
    for (std::int64_t i = 0; i < shard.num_nodes(t); ++i) {
      const auto id = static_cast<double>(first + i);
      for (int c = 0; c < 2; ++c) {
        all.push_back(10 * id + c);
        weight.push_back((id + 1) * (ranks().rank() + 1) + c);
        if (i < begin || i >= begin + count) continue;
        own.push_back(10 * id + c);
        const int n = ranks().size();
        expected.push_back((id + 1) * n * (n + 1) / 2 + c * n);
      }
    }
  }
  const auto rows = [](const std::vector<double>& values) {
    return Tensor::from(values, test::device()).reshape({std::ssize(values) / 2, 2});
  };
  const Variable x(rows(own), true), y = gather_nodes(shard, x);
  EXPECT_EQ(y.value().to_vector<double>(), all);
  y.backward(rows(weight));
  EXPECT_EQ(x.grad().to_vector<double>(), expected);
  EXPECT_EQ(first_random_row(shard) % 4, 0);
}

HeteroDataset small_mag() {
  return synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4});
}

TrainOptions options_of(TaskKind task) {
  TrainOptions options = published_options("rgcn", task);
  options.epochs = 3;
  options.undirected = true;
  options.hidden = 8, options.embedding = 8;
  options.dropout = 0;
  options.batch = 40, options.fanout = "4,3";
  options.weight_decay = 0;
  return options;
}

TrainOptions whole_graph(TaskKind task) {
  TrainOptions options = options_of(task);
  options.batch = 0, options.fanout = "";
  return options;
}

void expect_as_on_one_rank(const HeteroDataset& data, const TrainOptions& options,
                           double val_tolerance = 1e-3) {
  const test::Trained one = train(data, options, Communicator()), all = train(data, options, ranks());
  ASSERT_EQ(one.losses.size(), all.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], 1e-4 * one.losses[i]) << "epoch " << i + 1;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss,
              val_tolerance * one.summary.last.val_loss);
  test::expect_same_on_all_ranks(all.weights);
  test::expect_same_bits(all.weights, train(data, options, ranks()).weights);
}

TEST(TrainRankRelations, BatchesOfNodesTrainAsOnOneRank) {
  const HeteroDataset data = small_mag();
  TrainOptions options = options_of(TaskKind::kNode);
  expect_as_on_one_rank(data, options);
  options.eval_sampled = true;
  expect_as_on_one_rank(data, options);
}

TEST(TrainRankRelations, BatchesOfPairsTrainAsOnOneRank) {
  TrainOptions options = options_of(TaskKind::kLink);
  options.decoder = DecoderKind::kDistmult;
  expect_as_on_one_rank(test::knowledge(), options);
  options.decoder = DecoderKind::kDot, options.relation = "buys";
  expect_as_on_one_rank(test::shop(), options);
}

// Gradients of the rows that ranks read, and of all rows for an optimizer of the program's own: the same
// bits.
TEST(TrainRankRelations, TrainableRowsLearnByRowWhatTheyLearnByTable) {
  TrainOptions options = options_of(TaskKind::kLink);
  options.relation = "buys";
  const test::Trained by_row = train(test::shop(), options, ranks());
  options.optimizer.make = [](std::vector<ParameterGroup> groups) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Adam>(std::move(groups));
  };
  test::expect_same_bits(by_row.weights, train(test::shop(), options, ranks()).weights);
}

TEST(TrainRankRelations, TheWholeGraphTrainsAsOnOneRank) {
  for (const std::string_view model : {"rgcn", "hetero-sage", "rgat", "hgt"})
    for (const TrunkNorm norm : {TrunkNorm::kNone, TrunkNorm::kBatch, TrunkNorm::kLayer}) {
      SCOPED_TRACE(str(model, ", norm ", name(norm)));
      TrainOptions options = whole_graph(TaskKind::kNode);
      options.model = model;
      options.heads = 2, options.attention_dropout = 0;
      options.trunk.norm = norm;
      // A bias before batch norm has no gradient but rounding, which Adam scales to full steps: evaluations
      // differ by it, whose statistics are averages of steps.
      expect_as_on_one_rank(small_mag(), options, norm == TrunkNorm::kBatch ? 2e-2 : 1e-3);
    }
}

TEST(TrainRankRelations, FeaturesAsTheyAreTrainAsOnOneRank) {
  TrainOptions options = whole_graph(TaskKind::kNode);
  options.trunk.pre_linear = 0;
  expect_as_on_one_rank(synthesize_hetero({.preset = "igbh-tiny", .nodes = 600, .features = 8, .classes = 4}),
                        options);
}

TEST(TrainRankRelations, LinksOfTheWholeGraphTrainAsOnOneRank) {
  TrainOptions options = whole_graph(TaskKind::kLink);
  options.decoder = DecoderKind::kDistmult;
  expect_as_on_one_rank(test::knowledge(), options);
  options.decoder = DecoderKind::kDot, options.relation = "buys";
  expect_as_on_one_rank(test::shop(), options);
}

TEST(TrainRankRelations, DropoutLearns) {
  TrainOptions options = whole_graph(TaskKind::kNode);
  options.dropout = 0.3, options.epochs = 30;
  options.lr = 0.02;
  const test::Trained all = train(small_mag(), options, ranks());
  EXPECT_LT(all.losses.back(), 0.8 * all.losses.front());
  test::expect_same_on_all_ranks(all.weights);
  test::expect_same_bits(all.weights, train(small_mag(), options, ranks()).weights);
}

// Rows without edges cost alike, and ranges begin at the nearest multiple of 4.
TEST(TrainRankPartition, RangesBeginAtMultiplesOfFour) {
  if (ranks().size() != 2) return;
  const auto first = [](const std::vector<std::int64_t>& row_pointers, std::int64_t features = 0) {
    const auto nodes = partition_nodes(row_pointers, features, ranks());
    EXPECT_EQ(nodes->num_nodes(), std::ssize(row_pointers) - 1);
    return nodes->rows().front();
  };
  for (const auto& [nodes, rows] :
       {std::pair{16, 8}, {18, 8}, {20, 12}, {22, 12}, {24, 12}, {0, 0}, {2, 0}, {4, 4}})
    EXPECT_EQ(first(std::vector<std::int64_t>(static_cast<std::size_t>(nodes) + 1, 0)), rows) << nodes;
  // 16 rows, of which the first four have 160 edges each: 4 (16 + 160) + 12 * 16 = 896, half of it are 2.5
  // rows.
  std::vector<std::int64_t> uneven(17, 640);
  for (std::size_t i = 0; i < 4; ++i) uneven[i] = 160 * static_cast<std::int64_t>(i);
  EXPECT_EQ(first(uneven), 4);
  // With 10,000 features a row costs 1,216 more, and edges hardly count.
  EXPECT_EQ(first(uneven, 10'000), 8);
}

// What --dry-run prints as the plan.
TEST(TrainRankRelations, ThePlanSaysWhatEachRankHas) {
  const std::string file = testing::TempDir() + "/relations" + std::to_string(ranks().size()) + ".h5";
  if (ranks().rank() == 0) save_hetero_dataset(small_mag(), file);
  ranks().barrier();
  TrainOptions options = whole_graph(TaskKind::kNode);
  const auto plan = [&] { return describe(plan_source({.file = file}, options, test::device(), ranks())); };
  const std::string all = "read all edges and all features; build the graph on ";
  const auto of_ranks = [](const std::string& each) {
    return ranks().size() == 1 ? "" : str(ranks().size(), " ranks, ", each, "; ");
  };
  EXPECT_EQ(plan().find(of_ranks("a range of the nodes each") + all), 0u) << plan();
  options.batch = 16;
  EXPECT_EQ(plan().find(of_ranks("the whole graph each") + all), 0u) << plan();
}

}  // namespace
}  // namespace rodeo
