// Products of a sharded graph against one rank.
#include "ops/aggregation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/graph_plans.h"
#include "tests/ranks/ranks.h"

namespace rodeo::test {
namespace {

/// Nodes are equal modulo `communities` to all their neighbours, and the first node has none.
Adjacency communities_graph(std::int64_t rows, std::int64_t communities) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int e = 0; i > 0 && e < 5; ++e)
      col.push_back(static_cast<std::int32_t>(
          random_word(1, 2, col.size()) % static_cast<std::uint32_t>(rows / communities) * communities +
          i % communities));
    row_ptr.push_back(static_cast<std::int64_t>(col.size()));
  }
  return Adjacency({rows, rows, Tensor::from(row_ptr), Tensor::from(col)});
}

/// Rank 0 has `first` nodes, the others equally many, at multiples of 4.
std::shared_ptr<const NodePartition> partition(std::int64_t nodes, std::int64_t first) {
  std::vector<std::int64_t> rows{first};
  const int others = ranks().size() - 1;
  for (int rank = 0; rank < others; ++rank)
    rows.push_back(rank + 1 < others ? (nodes - first) / others / 4 * 4
                                     : nodes - first - (nodes - first) / others / 4 * 4 * (others - 1));
  if (others == 0) rows[0] = nodes;
  return std::make_shared<const NodePartition>(ranks(), rows);
}

TEST(OpsRanksOrder, ClustersAreThoseOfOneRank) {
  const std::int64_t nodes = 6000;
  const Adjacency graph = communities_graph(nodes, 60);
  const auto expected = cluster_rows(graph).to_vector<std::uint8_t>();
  for (const std::int64_t first : {0, 400, 3000}) {
    const Adjacency own = shard(graph, partition(nodes, first), device());
    const Tensor cluster = Tensor::empty({nodes}, DType::kU8, device());
    kernels::cluster_rows.on(device())(own.shard()->rows.csr(), own.shard()->nodes.get(), cluster);
    EXPECT_EQ(cluster.to_vector<std::uint8_t>(), expected);
  }
}

TEST(OpsRanksOrder, LargeGraphsHaveClustersAndSoHaveTheirTransposes) {
  const std::int64_t nodes = 1 << 19;
  const Adjacency graph = communities_graph(nodes, 64),
                  own = shard(graph, partition(nodes, 200'000), device());
  const auto expected = row_clusters(graph).to_vector<std::uint8_t>();
  const ShardedRows& share = *own.shard();
  const Tensor& cluster = row_clusters(share.rows);
  ASSERT_TRUE(cluster.defined());
  const auto begin = expected.begin() + share.nodes->first_row();
  EXPECT_EQ(cluster.to_vector<std::uint8_t>(),
            std::vector<std::uint8_t>(begin, begin + share.nodes->num_rows()));
  EXPECT_TRUE(rode_plan(share.rows).is_clustered);
  EXPECT_FALSE(rode_plan(share.rows).local_rows);
  if (ranks().size() == 1) return;
  EXPECT_EQ(row_clusters(transpose_pattern(share.rows)).to_vector<std::uint8_t>(), expected);
  EXPECT_EQ(row_clusters(transpose(share.rows).adj).to_vector<std::uint8_t>(), expected);
}

}  // namespace
}  // namespace rodeo::test
