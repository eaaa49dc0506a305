#include "ops/plan/row_locality.h"

#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

/// Every node and its neighbours in a grid of `side` x `side` nodes, numbered row by row.
Adjacency grid(std::int64_t side) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < side * side; ++i) {
    const std::int64_t x = i % side, y = i / side;
    for (std::int64_t dy = -1; dy <= 1; ++dy)
      for (std::int64_t dx = -1; dx <= 1; ++dx)
        if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side) {
          row.push_back(i);
          col.push_back(i + dy * side + dx);
        }
  }
  return coo_to_csr(Tensor::from(row), Tensor::from(col), side * side, side * side).adj;
}

/// Nodes are equal modulo `communities` to all their neighbours: the order of the file scatters communities.
Adjacency shuffled_communities(std::int64_t rows, std::int64_t communities) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int e = 0; e < 5; ++e)
      col.push_back(static_cast<std::int32_t>(
          random_word(1, 2, col.size()) % static_cast<std::uint32_t>(rows / communities) * communities +
          i % communities));
    row_ptr.push_back(static_cast<std::int64_t>(col.size()));
  }
  return Adjacency({rows, rows, Tensor::from(row_ptr), Tensor::from(col)});
}

TEST(OpsRowLocality, IsAFifthOfCommonColumns) {
  EXPECT_FALSE(RowLocality{}.is_local());
  EXPECT_FALSE((RowLocality{100, 100}.is_local()));
  EXPECT_FALSE((RowLocality{100, 80}.is_local()));
  EXPECT_TRUE((RowLocality{100, 79}.is_local()));
}

TEST(OpsRowLocality, ClustersMustImproveTheOrder) {
  EXPECT_TRUE(RowClusters::improves({100, 90}, {100, 72}));
  EXPECT_FALSE(RowClusters::improves({100, 70}, {100, 57}));
  EXPECT_TRUE(RowClusters::improves({100, 90}, {200, 144}));
  EXPECT_TRUE(RowClusters::improves({100, 90}, {100, 80})) << "twice as many common columns";
  EXPECT_FALSE(RowClusters::improves({100, 90}, {100, 81}));
  EXPECT_FALSE(RowClusters::improves({100, 99}, {100, 98})) << "twice as many of nearly none";
  EXPECT_FALSE(RowClusters::improves({100, 20}, {100, 30}));
}

TEST(OpsRowLocality, WindowsAreInsideTheGraph) {
  EXPECT_EQ(RowLocality::first_row(0, 1000, 32), 0);
  EXPECT_EQ(RowLocality::first_row(RowLocality::kWindows - 1, 1000, 32), 968);
  EXPECT_EQ(RowLocality::first_row(7, 20, 32), 0);
}

// Shares in tenths of a percent. What clusters bring was measured: docs/benchmarks/experiments.md.
TEST(OpsRowLocality, ClustersAreUsedWhereTheyWereFaster) {
  EXPECT_TRUE(RowClusters::improves({1000, 728}, {1000, 350})) << "reddit-like";
  EXPECT_TRUE(RowClusters::improves({1000, 960}, {1000, 790})) << "products-like";
  EXPECT_TRUE(RowClusters::improves({1000, 963}, {1000, 580})) << "27-point grid, shuffled";
  EXPECT_FALSE(RowClusters::improves({1000, 806}, {1000, 720})) << "R-MAT 2^20: 1 to 2 % slower";
  EXPECT_FALSE(RowClusters::improves({1000, 819}, {1000, 794})) << "arxiv-like: 5 to 15 % slower";
  EXPECT_FALSE(RowClusters::improves({1000, 518}, {1000, 510})) << "R-MAT 2^18";
  EXPECT_FALSE(RowClusters::improves({1000, 926}, {1000, 924})) << "power law";
}

class OpsRowLocalityOnDevice : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRowLocalityOnDevice);

TEST_P(OpsRowLocalityOnDevice, CountsDistinctColumns) {
  const auto of = [&](const Adjacency& adj) {
    return kernels::row_locality.on(device())(adj.to(device()).csr(), {}, RowLocality::kNeighbours);
  };
  constexpr int kWindows = RowLocality::kWindows;
  const Adjacency same({3, 9, Tensor::from(std::vector<std::int64_t>{0, 2, 2, 5}),
                        Tensor::from(std::vector<std::int32_t>{4, 7, 7, 4, 8})});
  EXPECT_EQ(of(same).sampled, 5 * kWindows);
  EXPECT_EQ(of(same).distinct, 3 * kWindows);
  EXPECT_EQ(of(graph_with_lengths({100}, 9)).sampled, 32 * kWindows);
  EXPECT_EQ(of(graph_with_lengths({0, 0}, 9)).sampled, 0);
  EXPECT_TRUE(of(grid(100)).is_local());
  EXPECT_FALSE(of(graph_with_lengths(std::vector<std::int64_t>(10'000, 9), 10'000)).is_local());
}

TEST_P(OpsRowLocalityOnDevice, EqualsTheHost) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    if (adj.rows() == 0) continue;
    std::vector<std::uint8_t> parts(static_cast<std::size_t>(adj.rows()));
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = static_cast<std::uint8_t>(i * 37 % 5);
    const Tensor cluster = Tensor::from(parts);
    for (const RowLocality::Window& window : {RowLocality::kNeighbours, RowLocality::kOrder})
      for (const bool clustered : {false, true}) {
        const RowLocality host = kernels::row_locality.on(kCpu)(adj.csr(), clustered ? cluster : Tensor(),
                                                                window),
                          here = kernels::row_locality.on(device())(
                              adj.to(device()).csr(), clustered ? cluster.to(device()) : Tensor(), window);
        EXPECT_EQ(here.sampled, host.sampled) << sparse_case.name;
        EXPECT_EQ(here.distinct, host.distinct) << sparse_case.name;
      }
  }
}

TEST_P(OpsRowLocalityOnDevice, ClustersOfAMeshAreDropped) {
  const Adjacency adj = grid(750).to(device());
  ASSERT_TRUE(RowClusters::should_use(adj.rows(), adj.cols(), adj.num_edges()));
  EXPECT_FALSE(row_clusters(adj).defined());
  EXPECT_TRUE(rode_plan(adj).local_rows);
}

TEST_P(OpsRowLocalityOnDevice, ClustersOfCommunitiesAreKept) {
  const Adjacency adj = shuffled_communities(1 << 19, 64).to(device());
  EXPECT_TRUE(row_clusters(adj).defined());
  EXPECT_FALSE(rode_plan(adj).local_rows);
}

TEST(OpsRowLocality, IsAssumedOfATransposeAsOfTheGraph) {
  for (const bool assumed : {false, true}) {
    const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
    if (assumed) assume_no_locality(adj);
    EXPECT_EQ(assumes_no_locality(transpose(adj).adj), assumed);
  }
}

}  // namespace
}  // namespace rodeo::test
