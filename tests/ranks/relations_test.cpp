// Mini-batches of relations over ranks: fractions of a batch train as the whole batch does on one rank.
#include <gtest/gtest.h>

#include "datasets/synthetic_hetero.h"
#include "tests/ranks/trained.h"
#include "tests/support/relations.h"
#include "train/adam.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;

test::Trained train(const HeteroDataset& data, const TrainOptions& options, const Communicator& over) {
  return test::train(make_hetero_run(data, options, test::device(), over), options, over);
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

void expect_as_on_one_rank(const HeteroDataset& data, const TrainOptions& options) {
  const test::Trained one = train(data, options, Communicator()), all = train(data, options, ranks());
  ASSERT_EQ(one.losses.size(), all.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(all.losses[i], one.losses[i], 1e-4 * one.losses[i]) << "epoch " << i + 1;
  EXPECT_NEAR(all.summary.last.val_loss, one.summary.last.val_loss, 1e-3 * one.summary.last.val_loss);
  test::expect_same_on_all_ranks(all.weights);
  test::expect_same_bits(all.weights, train(data, options, ranks()).weights);
}

TEST(TrainRankRelations, BatchesOfNodesTrainAsOnOneRank) {
  const HeteroDataset data = synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4});
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

TEST(TrainRankRelations, TheWholeGraphIsForOneRank) {
  TrainOptions options = options_of(TaskKind::kNode);
  options.batch = 0;
  try {
    train(synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4}), options, ranks());
    EXPECT_EQ(ranks().size(), 1);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "--model rgcn, of graphs of several node types, is trained on the whole graph by one rank, and "
              "there are " +
                  str(ranks().size()) + ": give --batch");
  }
}

}  // namespace
}  // namespace rodeo
