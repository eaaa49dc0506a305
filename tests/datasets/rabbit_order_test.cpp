// Rabbit Order makes communities contiguous.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "datasets/reorder.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

Dataset graph_of(std::int64_t nodes, const Ids& src, const Ids& dst) {
  Dataset d;
  d.num_nodes = nodes;
  d.src = Tensor::from(src);
  d.dst = Tensor::from(dst);
  return d;
}

Dataset ordered(const Dataset& d, NodeOrder by) {
  return select_nodes(d, node_order(d, by));
}

/// Mean distance |src - dst| of the edges in an order.
double mean_distance(const Dataset& d) {
  const auto src = d.src.to(DType::kI64).to_vector<std::int64_t>(),
             dst = d.dst.to(DType::kI64).to_vector<std::int64_t>();
  double sum = 0;
  for (std::size_t e = 0; e < src.size(); ++e) sum += static_cast<double>(std::abs(src[e] - dst[e]));
  return sum / static_cast<double>(src.size());
}

/// 40 communities of 100 nodes with 20 neighbours each.
Dataset communities(bool shuffle) {
  SyntheticOptions options;
  options.nodes = 4000, options.edges = 80000, options.features = 1, options.classes = 40;
  options.skew = 0.3, options.homophily = 0.9, options.split = "60/20/20", options.shuffle = shuffle;
  return synthesize(options);
}

TEST(DatasetsRabbitOrder, ShuffledCommunitiesComeTogether) {
  const Dataset shuffled = communities(true), rabbit = ordered(shuffled, NodeOrder::kRabbit);
  EXPECT_LT(near_edges(shuffled, 100), 0.06);
  EXPECT_GT(near_edges(rabbit, 100), 12 * near_edges(shuffled, 100));
  EXPECT_LT(mean_distance(rabbit), mean_distance(shuffled) / 5);
  // Distances are as small as in the original order.
  const Dataset made = communities(false);
  EXPECT_LT(mean_distance(rabbit), 1.2 * mean_distance(made));
  // Other orders do not recover the communities.
  for (const NodeOrder by : {NodeOrder::kDegree, NodeOrder::kRcm})
    EXPECT_LT(2 * near_edges(ordered(shuffled, by), 100), near_edges(rabbit, 100)) << name(by);
}

TEST(DatasetsRabbitOrder, OrdersAreFunctionsOfTheGraphAlone) {
  const Dataset d = communities(true);
  for (const NodeOrder by : {NodeOrder::kDegree, NodeOrder::kRcm, NodeOrder::kRabbit})
    EXPECT_TRUE(test::same_bits(node_order(d, by), node_order(d, by))) << name(by);
  EXPECT_FALSE(node_order(d, NodeOrder::kNone).defined());
}

TEST(DatasetsRabbitOrder, CliquesAreContiguousAndIsolatedNodesLast) {
  // Node i is in clique i mod 5 of 4; 20 to 22 have no edge, 23 only itself.
  Ids src, dst;
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      if (i % 5 == j % 5) src.push_back(i), dst.push_back(j);
  src.push_back(23), dst.push_back(23);
  const Ids order = node_order(graph_of(24, src, dst), NodeOrder::kRabbit).to_vector<std::int64_t>();
  for (std::size_t begin = 0; begin < 20; begin += 4)
    for (std::size_t i = begin; i < begin + 4; ++i)
      EXPECT_EQ(order[i] % 5, order[begin] % 5) << "place " << i;
  EXPECT_EQ(Ids(order.end() - 4, order.end()), (Ids{23, 22, 21, 20}));
}

TEST(DatasetsRabbitOrder, DirectionsAndLoopsMakeNoDifference) {
  const Dataset d = communities(true);
  const Tensor order = node_order(d, NodeOrder::kRabbit);
  Ids one_way_src, one_way_dst, looped_src, looped_dst;
  const auto src = d.src.to(DType::kI64).to_vector<std::int64_t>(),
             dst = d.dst.to(DType::kI64).to_vector<std::int64_t>();
  for (std::size_t e = 0; e < src.size(); ++e) {
    if (src[e] < dst[e]) one_way_src.push_back(src[e]), one_way_dst.push_back(dst[e]);
    looped_src.insert(looped_src.end(), {src[e], dst[e]});
    looped_dst.insert(looped_dst.end(), {dst[e], dst[e]});
  }
  EXPECT_TRUE(
      test::same_bits(node_order(graph_of(4000, one_way_src, one_way_dst), NodeOrder::kRabbit), order));
  EXPECT_TRUE(test::same_bits(node_order(graph_of(4000, looped_src, looped_dst), NodeOrder::kRabbit), order));
}

TEST(DatasetsRabbitOrder, ALongPathAndAStarTakeNoStack) {
  constexpr std::int64_t kNodes = 300000;
  Ids path_src, path_dst, hub(kNodes - 1, 7), leaves;
  for (std::int64_t i = 0; i + 1 < kNodes; ++i) path_src.push_back(i), path_dst.push_back(i + 1);
  for (std::int64_t i = 0; i < kNodes; ++i)
    if (i != 7) leaves.push_back(i);
  for (const Dataset& d : {graph_of(kNodes, path_src, path_dst), graph_of(kNodes, hub, leaves)}) {
    Ids order = node_order(d, NodeOrder::kRabbit).to_vector<std::int64_t>();
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < kNodes; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST(DatasetsRabbitOrder, ADatasetWithoutEdgesOrNodesHasAnOrder) {
  for (const std::int64_t nodes : {0, 1, 3})
    for (const NodeOrder by : {NodeOrder::kDegree, NodeOrder::kRcm, NodeOrder::kRabbit}) {
      const Dataset d = graph_of(nodes, {}, {});
      EXPECT_EQ(node_order(d, by).numel(), nodes);
      EXPECT_EQ(near_edges(d, 1024), 0);
    }
  EXPECT_EQ(inverse_order(Tensor::from(Ids{2, 0, 1})).to_vector<std::int64_t>(), (Ids{1, 2, 0}));
  EXPECT_EQ(near_edges(graph_of(9, {0, 8, 3}, {8, 6, 4}), 2), 2.0 / 3);
  EXPECT_ERROR(parse_name<NodeOrder>("--by", "rabit"),
               "--by must be none, degree, rcm or rabbit, got 'rabit'");
  EXPECT_ERROR(rabbit_order(test::graph_with_lengths({1, 2}, 5)),
               "[rabbit_order] needs a square graph, got 2 x 5");
}

}  // namespace
}  // namespace rodeo
