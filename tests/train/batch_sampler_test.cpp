#include "train/batch_sampler.h"

#include <gtest/gtest.h>

#include <numeric>

#include "datasets/synthetic_graphs.h"
#include "ops/convert.h"
#include "train/pair_batches.h"
#include "train/task/graph_steps.h"

namespace rodeo {
namespace {

// Every target once; two targets at least, unless the batch has but one; ranks without a fraction repeat the
// first.
TEST(TrainBatchSampler, FractionsAreTheBatch) {
  for (const std::int64_t targets : {1, 2, 3, 4, 5, 22, 1024, 1027})
    for (const int ranks : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(str(targets, " targets over ", ranks));
      std::int64_t next = 0, least = targets, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const BatchFraction own = cut_batch(targets, rank, ranks);
        const std::int64_t size = own.end - own.begin;
        EXPECT_GE(size, std::min<std::int64_t>(targets, 2));
        if (!own.counts) {
          EXPECT_EQ(own.begin, 0);
          EXPECT_EQ(own.end, cut_batch(targets, 0, ranks).end);
          continue;
        }
        EXPECT_EQ(own.begin, next);
        next = own.end;
        least = std::min(least, size), most = std::max(most, size);
      }
      EXPECT_EQ(next, targets);
      EXPECT_LE(most - least, 1);
    }
}

// A ring with edges in both directions, of which i -> i + 1 are to be learnt.
TEST(TrainBatchSampler, PairsOfABatchAreLeftOutOfItsNeighbourhoods) {
  std::vector<std::int64_t> from, to;
  for (std::int64_t i = 0; i < 7; ++i) from.push_back(i), to.push_back((i + 1) % 7);
  const Tensor src = Tensor::from(from), dst = Tensor::from(to);
  const Adjacency graph = coo_to_csr(src, dst, 7, 7, {.symmetrize = true}).adj;
  for (const bool undirected : {false, true}) {
    PairRelation relation{.graph = graph};
    if (undirected) relation.messages.push_back({.turned = true});
    PairBatchSampler sampler({src.slice(0, 5), dst.slice(0, 5)}, {relation}, NeighborSampler(graph, {{-1}}),
                             {.batch_size = 2});
    const auto steps = sampler.epoch(1, 0);
    ASSERT_EQ(steps.size(), 3U);
    for (std::size_t step = 0; step < 3; ++step) {
      EXPECT_EQ(steps[step].is_full, step < 2);
      const std::vector<std::int64_t>& pairs = steps[step].examples;
      const SampledBatch batch = sampler.sample(step);
      const Adjacency& block = batch.blocks[0].adj;
      const auto node = batch.blocks[0].sources.to_vector<std::int64_t>();
      const auto row = edge_rows(block).to_vector<std::int32_t>(),
                 col = block.csr().col.to_vector<std::int32_t>();
      std::size_t ahead = 0, back = 0;
      for (std::size_t e = 0; e < row.size(); ++e)
        for (const std::int64_t pair : pairs) {
          ahead += node[col[e]] == from[pair] && node[row[e]] == to[pair];
          back += node[col[e]] == to[pair] && node[row[e]] == from[pair];
        }
      EXPECT_EQ(ahead, 0U);
      EXPECT_EQ(back, undirected ? 0U : pairs.size());
    }
  }
}

TEST(TrainGraphBatches, EachEpochHasAnOrderOfItsOwn) {
  const Dataset data = synthesize_graphs({.graphs = 20});
  std::vector<std::int64_t> training(20);
  std::iota(training.begin(), training.end(), 0);
  GraphSteps steps(GraphSet(to_graph(data, kCpu).adj, data.graph_ptr), training, {.batch_graphs = 20});
  const auto order = [&](int epoch) {
    steps.begin_epoch({.epoch = epoch});
    return steps.next()->examples.host;
  };
  const auto first = order(1);
  EXPECT_NE(first, order(2));
  EXPECT_EQ(first, order(1));
}

}  // namespace
}  // namespace rodeo
