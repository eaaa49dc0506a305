#include "ops/hetero_graph.h"

#include "core/memory_stats.h"
#include "ops/gather_rows.h"
#include "ops/spmm.h"
#include "tests/support/devices.h"
#include "tests/support/hetero.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

/// Numbers of the relations of small_hetero_graph() that have edges: paper is the source and the target of
/// two.
constexpr NodeNumbers kSources[] = {{0, 1}, {5, 2}, {6, 2}}, kTargets[] = {{0, 2}, {1, 2}, {8, 1}};

std::int64_t number_of(const NodeNumbers& numbers, std::int64_t node) {
  return numbers.begin + node * numbers.step;
}

class OpsHeteroGraph : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsHeteroGraph);

TEST_P(OpsHeteroGraph, NumbersNodesByTypeAndEdgesByRelation) {
  const HeteroGraph graph = small_hetero_graph(device());
  EXPECT_EQ(graph.num_types(), 4);
  EXPECT_EQ(graph.num_nodes(), 5 + 4 + 0 + 3);
  EXPECT_EQ(graph.first_node(3), 9);
  EXPECT_EQ(graph.num_relations(), 4);
  EXPECT_EQ(graph.find_type("venue"), 3);
  EXPECT_EQ(graph.find_relation("writes"), 0);
  EXPECT_EQ(graph.find_relation("paper:cites:paper"), 1);
  EXPECT_EQ(graph.num_sources(), 5 + 4 + 4 + 0);
  EXPECT_EQ(graph.num_targets(), 4 + 4 + 3 + 0);
  for (int r = 0; r < 3; ++r) {
    EXPECT_EQ(number_of(graph.sources(r), 2), number_of(kSources[r], 2));
    EXPECT_EQ(number_of(graph.targets(r), 2), number_of(kTargets[r], 2));
  }
  EXPECT_EQ(graph.target_order().csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(graph.first_edge(1), 6);
  EXPECT_TRUE(graph.is_whole());
  EXPECT_EQ(graph.stacked().cols(), 13);
  EXPECT_EQ(graph.by_target().rows(), 11);
}

// Each matrix against a loop over the edges.
TEST_P(OpsHeteroGraph, MatricesHoldTheEdges) {
  const HeteroGraph graph = small_hetero_graph(device());
  const std::int64_t n = graph.num_nodes(), stack = graph.num_sources(), targets = graph.num_targets();
  std::vector<double> stacked(static_cast<std::size_t>(n * stack)),
      by_target(static_cast<std::size_t>(targets * n)), mean(stacked.size());
  for_each_edge(graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t degree) {
    const auto s = static_cast<std::size_t>((graph.first_node(graph.dst_type(r)) + i) * stack +
                                            number_of(kSources[r], j));
    stacked[s] += 1;
    mean[s] += 1 / static_cast<double>(degree);
    by_target[static_cast<std::size_t>(number_of(kTargets[r], i) * n + graph.first_node(graph.src_type(r)) +
                                       j)] += 1;
  });
  const auto identity = [&](std::int64_t size) {
    Tensor x = Tensor::zeros({size, size}, DType::kF64);
    for (std::int64_t i = 0; i < size; ++i) x.data<double>()[i * size + i] = 1;
    return x.to(device());
  };
  EXPECT_TRUE(near(spmm(graph.stacked(), identity(stack)), stacked, 0, 0));
  EXPECT_TRUE(near(spmm(graph.by_target(), identity(n)), by_target, 0, 0));
  EXPECT_TRUE(
      near(spmm(graph.stacked(), graph.edge_means(graph.stacked(), DType::kF64).weight, identity(stack)),
           mean, 1e-15));
  const Tensor sums = spmm(graph.sum_relations(), spmm(graph.relation_blocks(), identity(stack)));
  EXPECT_TRUE(near(sums, stacked, 0, 0));
}

// Columns of the stack that edges read, relation by relation; the rest is what relation_blocks() holds.
TEST_P(OpsHeteroGraph, ReadSourcesAreThoseOfEdges) {
  const HeteroGraph graph = small_hetero_graph(device());
  EXPECT_FALSE(graph.is_block());
  const ReadSources& read = graph.read_sources();
  const std::int64_t n = graph.num_nodes();
  // Authors 4, 0, 1, 2 write, papers 0, 1, 2 cite and are in venues.
  EXPECT_EQ(read.nodes.to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 0, 1, 2, 5, 6, 7, 5, 6, 7}));
  EXPECT_EQ(read.relations,
            (std::vector<RowSegment>{{0, 0, 4, 1}, {4, 4, 3, 1}, {7, 7, 3, 1}, {10, 10, 0, 1}}));
  const Tensor x = random_tensor({n, 3}, DType::kF64, device());
  const Tensor sums = spmm(graph.by_target(), x);
  EXPECT_TRUE(near(spmm(read.blocks, gather_rows(x, read.nodes)), doubles(sums), 1e-12));
}

TEST_P(OpsHeteroGraph, EdgeIdsAreThoseOfTheLists) {
  const HeteroGraph graph = small_hetero_graph(device());
  std::vector<std::int32_t> sources, nodes;  // of all edges in the order of the lists
  for_each_edge(graph, [&](int r, std::int64_t j, std::int64_t, std::int64_t) {
    sources.push_back(static_cast<std::int32_t>(number_of(kSources[r], j)));
    nodes.push_back(static_cast<std::int32_t>(graph.first_node(graph.src_type(r)) + j));
  });
  const auto expect_columns = [](const Adjacency& adj, const Tensor& ids,
                                 const std::vector<std::int32_t>& of_list) {
    const std::vector<std::int32_t> col = adj.csr().col.to_vector<std::int32_t>();
    const std::vector<std::int64_t> id = ids.to_vector<std::int64_t>();
    for (std::size_t e = 0; e < col.size(); ++e) EXPECT_EQ(col[e], of_list[static_cast<std::size_t>(id[e])]);
  };
  expect_columns(graph.stacked(), graph.stacked_edge_ids(), sources);
  expect_columns(graph.by_target(), graph.by_target_edge_ids(), nodes);
}

TEST_P(OpsHeteroGraph, MeansKeepNoEdgeIds) {
  constexpr std::int64_t kEdges = 1 << 16, kNodes = 100;
  std::vector<std::int64_t> ids(kEdges);
  for (std::int64_t e = 0; e < kEdges; ++e) ids[static_cast<std::size_t>(e)] = e * e % kNodes;
  const Tensor ends = Tensor::from(ids);
  const HeteroGraph graph({{"a", kNodes}, {"b", kNodes}}, {{"a", "to", "b", ends, ends}}, device());
  static_cast<void>(graph.by_target());
  const std::int64_t before = memory_stats(device()).current;
  static_cast<void>(graph.edge_means(graph.by_target(), DType::kF32));
  // Two weights, and the columns of the transpose.
  EXPECT_LT(memory_stats(device()).current - before, 13 * kEdges);
}

TEST_P(OpsHeteroGraph, ReverseRelationsAndTargetsOfOneType) {
  const HeteroGraph graph = small_hetero_graph(device()), both = graph.add_reverse();
  EXPECT_EQ(both.num_relations(), 8);
  EXPECT_EQ(both.relation(4).full_name(), "paper:rev_writes:author");
  EXPECT_EQ(both.num_edges(), 2 * graph.num_edges());
  const HeteroGraph papers = both.with_targets_of(1);
  EXPECT_EQ(papers.num_rows(), 4);
  EXPECT_EQ(papers.num_nodes(), 12);
  EXPECT_EQ(papers.num_edges(4), 0);
  EXPECT_EQ(papers.num_edges(0), 6);
  EXPECT_EQ(papers.stacked().rows(), 4);
  EXPECT_EQ(papers.stacked().cols(), 5 + 4 + 4 + 3);  // sources of the relations to papers alone
  EXPECT_TRUE(papers == both.with_targets_of(1));
}

TEST(OpsHeteroGraphErrors, NameWhatIsWrong) {
  const Tensor one = Tensor::from(std::vector<std::int64_t>{0}),
               bad = Tensor::from(std::vector<std::int64_t>{0, 7});
  const std::vector<NodeType> types{{"a", 2}, {"b", 3}};
  EXPECT_ERROR(HeteroGraph({{"a", 2}, {"a", 3}}, {}), "[hetero_graph] there are two node types named a");
  EXPECT_ERROR(HeteroGraph(types, {{"a", "to", "c", one, one}}),
               "[hetero_graph] relation a:to:c has an unknown node type c");
  EXPECT_ERROR(HeteroGraph(types, {{"a", "to", "b", bad, bad}}),
               "[hetero_graph] src_ids[1] of a:to:b is 7, outside [0, 2)");
  EXPECT_ERROR(HeteroGraph(types, {{"b", "to", "b", one, bad}}),
               "[hetero_graph] dst_ids[1] of b:to:b is 7, outside [0, 3)");
  const HeteroGraph graph(types, {{"a", "to", "b", one, one}, {"b", "to", "a", one, one}});
  EXPECT_ERROR(graph.find_relation("to"),
               "[hetero_graph] there is more than one relation to; there are a:to:b, b:to:a");
  EXPECT_ERROR(graph.find_type("c"), "[hetero_graph] there is no node type c; there are a, b");
}

}  // namespace
}  // namespace rodeo::test
