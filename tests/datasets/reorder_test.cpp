#include "datasets/reorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "datasets/graph_facts.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::ids;
using test::Ids;
using test::Parts;
using test::same_bits;

Ids sorted(const Tensor& order) {
  Ids values = order.to_vector<std::int64_t>();
  std::sort(values.begin(), values.end());
  return values;
}

TEST(DatasetsReorder, EveryOrderIsAPermutation) {
  for (const test::SparseCase& sparse_case : test::sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    if (adj.rows() != adj.cols()) continue;
    Ids all(static_cast<std::size_t>(adj.rows()));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted(degree_order(adj)), all) << sparse_case;
    EXPECT_EQ(sorted(rcm_order(adj)), all) << sparse_case;
    EXPECT_EQ(sorted(rabbit_order(adj)), all) << sparse_case;
    EXPECT_EQ(sorted(random_order(adj.rows(), 3)), all) << sparse_case;
  }
  EXPECT_FALSE(same_bits(random_order(50, 1), random_order(50, 2)));
}

std::int64_t bandwidth(const Adjacency& adj) {
  const auto row = edge_rows(adj).to_vector<std::int32_t>(), col = adj.csr().col.to_vector<std::int32_t>();
  std::int64_t width = 0;
  for (std::size_t e = 0; e < row.size(); ++e)
    width = std::max<std::int64_t>(width, std::abs(row[e] - col[e]));
  return width;
}

TEST(DatasetsReorder, RcmUntanglesAPathAndAGrid) {
  // A 12 x 40 grid in random order: the smallest bandwidth is 12, and Cuthill-McKee gets close to it.
  constexpr std::int64_t kWide = 12, kLong = 40;
  Dataset grid;
  grid.num_nodes = kWide * kLong;
  Ids src, dst;
  for (std::int64_t i = 0; i < grid.num_nodes; ++i) {
    if (i % kWide + 1 < kWide) src.push_back(i), dst.push_back(i + 1);
    if (i + kWide < grid.num_nodes) src.push_back(i), dst.push_back(i + kWide);
  }
  grid.src = ids(src), grid.dst = ids(dst);
  const Dataset tangled = select_nodes(grid, random_order(grid.num_nodes, 1));
  const auto graph = [](const Dataset& d) { return to_graph(d, kCpu, {.symmetrize = true}).adj; };
  EXPECT_GT(bandwidth(graph(tangled)), 200);
  const Dataset untangled = select_nodes(tangled, rcm_order(graph(tangled)));
  EXPECT_LE(bandwidth(graph(untangled)), kWide + 2);
}

// Cuthill-McKee begins at an end of the path, here 3 at last; reversed, the order ends there.
TEST(DatasetsReorder, RcmIsReversed) {
  const Adjacency path = coo_to_csr(ids({0, 1, 1, 2, 2, 3}), ids({1, 0, 2, 1, 3, 2}), 4, 4).adj;
  EXPECT_EQ(rcm_order(path).to_vector<std::int64_t>(), (Ids{0, 1, 2, 3}));
  // A star with its centre in the middle of two levels: leaves first, then the centre, the start last.
  const Adjacency star = coo_to_csr(ids({1, 1, 1, 0, 2, 3}), ids({0, 2, 3, 1, 1, 1}), 4, 4).adj;
  EXPECT_EQ(rcm_order(star).to_vector<std::int64_t>()[2], 1);
}

// Two paths of two nodes beside node 0, at node 1. The search from 4 meets 0 before 3, which has more
// neighbours, and ends at 5; the one from there is the last.
TEST(DatasetsReorder, RcmTakesNodesOfLowDegreeFirst) {
  const Adjacency tree =
      coo_to_csr(ids({0, 1, 1, 2, 3}), ids({1, 2, 3, 4, 5}), 6, 6, {.symmetrize = true}).adj;
  EXPECT_EQ(rcm_order(tree).to_vector<std::int64_t>(), (Ids{4, 2, 0, 1, 3, 5}));
}

TEST(DatasetsReorder, OnlyAPermutationHasAnInverse) {
  EXPECT_EQ(inverse_order(ids({2, 0, 1})).to_vector<std::int64_t>(), (Ids{1, 2, 0}));
  EXPECT_ERROR(inverse_order(ids({0, 3, 1})), "[inverse_order] order[1] = 3 is outside [0, 3)");
  EXPECT_ERROR(inverse_order(ids({0, -1})), "[inverse_order] order[1] = -1 is outside [0, 2)");
  EXPECT_ERROR(inverse_order(ids({0, 1, 1})), "[inverse_order] node 1 is a duplicate");
}

TEST(DatasetsReorder, DegreesFallAndEqualOnesKeepTheirOrder) {
  const Adjacency adj = test::graph_with_lengths({1, 5, 0, 5, 2}, 5);
  EXPECT_EQ(degree_order(adj).to_vector<std::int64_t>(), (Ids{1, 3, 4, 0, 2}));
}

TEST(DatasetsSubset, AllThatBelongsToNodesFollowsThem) {
  for (const bool csr : {false, true}) {
    Parts parts;
    if (csr) parts.use_csr();
    parts.edge_weight = Tensor::from<float>({10, 11, 12, 13, 14});
    const Dataset d = test::load(parts, {.all_splits = true});
    const Dataset part = select_nodes(d, ids({5, 1, 0, 4}));
    EXPECT_EQ(part.num_nodes, 4);
    EXPECT_EQ(part.node_id.to_vector<std::int64_t>(), (Ids{5, 1, 0, 4}));
    EXPECT_EQ(part.y.to_vector<std::int64_t>(), (Ids{-1, 1, 0, 1}));
    EXPECT_EQ(part.x.to_vector<float>(), (std::vector<float>{11, 12, 3, 4, 1, 2, 9, 10}));
    EXPECT_EQ(part.split.train.to_vector<std::int64_t>(), (Ids{1, 2}));
    EXPECT_EQ(part.split.val.numel(), 0);
    EXPECT_EQ(part.splits.at(0).test.to_vector<std::int64_t>(), (Ids{3}));
    const Graph graph = to_graph(part, kCpu);
    const auto row = edge_rows(graph.adj).to_vector<std::int32_t>();
    const auto col = graph.adj.csr().col.to_vector<std::int32_t>();
    // Edge list: 0 -> 1 and 4 -> 5. CSR: 1 -> 0, 5 -> 4 and 4 -> 5.
    EXPECT_EQ(row, csr ? (std::vector<std::int32_t>{0, 2, 3}) : (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(col, csr ? (std::vector<std::int32_t>{3, 1, 0}) : (std::vector<std::int32_t>{3, 2}));
    EXPECT_EQ(graph.weight.to_vector<float>(),
              csr ? (std::vector<float>{14, 11, 13}) : (std::vector<float>{14, 10}));
    const Dataset again = select_nodes(part, ids({3, 0}));
    EXPECT_EQ(again.node_id.to_vector<std::int64_t>(), (Ids{4, 5}));
  }
}

TEST(DatasetsSubset, AnOrderAndItsInverseGiveTheGraphBack) {
  SyntheticOptions options = synthetic_preset("cora");
  options.nodes = 700, options.edges = 3000, options.features = 20;
  options.split = "60/20/20";
  const Dataset d = synthesize(options);
  const Tensor order = random_order(d.num_nodes, 9);
  Ids back(700);
  for (std::int64_t i = 0; i < 700; ++i) back[order.data<std::int64_t>()[i]] = i;
  const Dataset there = select_nodes(d, order), again = select_nodes(there, ids(back));
  EXPECT_FALSE(same_bits(there.x, d.x));
  EXPECT_TRUE(same_bits(again.x, d.x));
  EXPECT_TRUE(same_bits(again.y, d.y));
  EXPECT_TRUE(same_bits(again.src, d.src));
  EXPECT_TRUE(same_bits(again.split.test, d.split.test));
  Ids own(700);
  std::iota(own.begin(), own.end(), 0);
  EXPECT_EQ(again.node_id.to_vector<std::int64_t>(), own);
}

TEST(DatasetsSubset, WrongNodesAreNamed) {
  const Dataset d = test::load(Parts());
  EXPECT_ERROR(select_nodes(d, ids({0, 6})), "[select_nodes] node 6 is outside [0, 6)");
  EXPECT_ERROR(select_nodes(d, ids({0, 3, 0})), "[select_nodes] node 0 is a duplicate");
  EXPECT_ERROR(select_nodes(d, d.x), "[select_nodes] nodes must be i64 [k] on the host");
  EXPECT_ERROR(random_nodes(5, 6, 0), "[random_nodes] count must be in [0, 5], got 6");
  EXPECT_EQ(random_nodes(5, 5, 0).to_vector<std::int64_t>(), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(select_nodes(d, ids({})).num_nodes, 0);
}

TEST(DatasetsFacts, AreCounted) {
  Parts parts;
  parts.edge_index = ids({0, 1, 0, 1, 2, 2, 3, 1, 0, 1, 0, 2, 3, 2}).reshape({2, 7});
  const GraphFacts facts = graph_facts(test::load(parts));
  EXPECT_EQ(facts.duplicates, 2);
  EXPECT_EQ(facts.self_loops, 1);
  EXPECT_EQ(facts.isolated, 2);
  EXPECT_TRUE(facts.symmetric);
  EXPECT_EQ(facts.max_degree, 2);
  EXPECT_EQ(facts.histogram, (Ids{2, 1, 3}));
  EXPECT_EQ(facts.class_sizes, (Ids{2, 2, 1}));
  EXPECT_EQ(facts.unlabelled, 1);
  EXPECT_EQ(facts.homophily, 1.0 / 7);
  EXPECT_EQ(facts.density, 1);
  EXPECT_FALSE(graph_facts(test::load(Parts())).symmetric);
}

TEST(DatasetsFacts, AreThoseOfTheRowAndOfKnownLabels) {
  Dataset data;
  data.num_nodes = 5, data.num_classes = 2, data.num_features = 2;
  data.src = Tensor::from(Ids{3, 0, 0, 0, 2, 1});
  data.dst = Tensor::from(Ids{0, 1, 1, 2, 2, 3});  // 0 -> 1 twice, a loop of 2, and 4 is alone
  data.y = Tensor::from(Ids{0, 0, 1, -1, 1});
  data.x = Tensor::from(std::vector<float>{1, 0, 0, 2, 0, 0, 3, 0, 0, 0}, {5, 2});
  const GraphFacts facts = graph_facts(data);
  EXPECT_EQ(facts.edges, 6);
  EXPECT_EQ(facts.duplicates, 1) << "rows 1 and 2 begin or end with column 0";
  EXPECT_EQ(facts.self_loops, 1);
  EXPECT_EQ(facts.isolated, 1);
  EXPECT_FALSE(facts.symmetric);
  EXPECT_EQ(facts.max_degree, 2);
  EXPECT_EQ(facts.mean_degree, 1.2);
  EXPECT_EQ(facts.median_degree, 1);
  EXPECT_EQ(facts.histogram, (Ids{1, 2, 2}));
  EXPECT_EQ(facts.class_sizes, (Ids{2, 2}));
  EXPECT_EQ(facts.unlabelled, 1);
  EXPECT_EQ(facts.homophily, 0.75) << "of the four edges between labelled nodes";
  EXPECT_EQ(facts.density, 0.3);
  data.x = {};
  data.x_sparse = {Tensor::from(Ids{0, 1, 2, 2, 4, 4}), Tensor::from(Ids{0, 1, 0, 1}), Tensor::full({4}, 1)};
  EXPECT_EQ(graph_facts(data).density, 0.4);

  data.src = Tensor::from(Ids{0, 2}), data.dst = Tensor::from(Ids{1, 2});
  EXPECT_EQ(graph_facts(data).isolated, 2) << "0 has an edge from it, 1 one to it, 2 a loop";
}

// f32 and 16 hidden of a GCN: 8 * 16 + 7 * classes values a node, 8 bytes a label. Dense features are there
// twice; an entry of sparse ones takes 8 + 4 + 8 + 4 * 4 bytes.
TEST(DatasetsFacts, MemoryOfTrainingIsThatOfDenseOrSparseFeatures) {
  Dataset data;
  data.num_nodes = 100, data.num_features = 50, data.num_classes = 2;
  data.src = Tensor::from(Ids{0, 1}), data.dst = Tensor::from(Ids{1, 0});
  data.x = Tensor::zeros({100, 50});
  const auto bytes = [&](double density, bool symmetric = true, DType dtype = DType::kF32) {
    GraphFacts facts;
    facts.symmetric = symmetric, facts.density = density;
    return gcn_training_bytes(data, facts, dtype);
  };
  const std::int64_t graph = 8 * 101 + 4 * 102, nodes = 100 * (8 + 4 * (8 * 16 + 7 * 2));
  const auto sparse = [](std::int64_t entries) { return entries * (8 + 4 + 8 + 4 * 4) + 8 * (100 + 50 + 2); };
  EXPECT_EQ(bytes(0.12), graph + nodes + 2 * 100 * 50 * 4) << "sparse below 0.12";
  EXPECT_EQ(bytes(0.11), graph + nodes + sparse(550));
  EXPECT_EQ(bytes(0.12, false), 2 * graph + nodes + 2 * 100 * 50 * 4) << "the transpose";
  EXPECT_EQ(bytes(0.12, true, DType::kBF16), graph + 100 * (8 + 2 * (8 * 16 + 7 * 2)) + 2 * 100 * 50 * 2);
  data.x_sparse = {Tensor::zeros({101}, DType::kI64), Tensor::zeros({0}, DType::kI32), Tensor::zeros({0})};
  EXPECT_EQ(bytes(0.2), graph + nodes + 2 * 100 * 50 * 4) << "those of the file below 0.2";
  EXPECT_EQ(bytes(0.19), graph + nodes + sparse(950));
}

}  // namespace
}  // namespace rodeo
