#include "ops/plan/tca_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/cuda_graph.h"
#include "core/error.h"
#include "datasets/dataset.h"
#include "datasets/synthetic.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/tca_plans.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

constexpr std::int64_t kTiles[] = {1, 2, 4, 10, 70};

// Rows just under, at and over every border of a class, and more of each.
Adjacency borders() {
  std::vector<std::int64_t> lengths{0,  1,  7,   8,   9,   15,  16,  17,  31,  32,  33,   63,
                                    64, 65, 127, 128, 129, 511, 512, 513, 639, 640, 5000, 0};
  for (std::int64_t i = 0; i < 300; ++i) lengths.push_back(i * 7919 % 150);
  return graph_with_lengths(lengths, 900);
}

TEST(OpsTcaPlan, WarpsAndOutputsByRowClass) {
  struct Row {
    std::int64_t length, warps, warps_of_two_tiles, outputs;
  };
  for (const Row& row : {Row{0, 1, 1, 16}, Row{1, 1, 1, 16}, Row{8, 1, 1, 16}, Row{9, 2, 2, 8},
                         Row{16, 2, 2, 8}, Row{17, 4, 4, 4}, Row{32, 4, 4, 4}, Row{33, 8, 8, 2},
                         Row{64, 8, 8, 2}, Row{65, 8, 16, 2}, Row{128, 8, 16, 2}, Row{100'000, 8, 16, 2}}) {
    EXPECT_EQ(TcaPlan::warps(row.length, 1), row.warps) << row.length;
    EXPECT_EQ(TcaPlan::warps(row.length, 2), row.warps_of_two_tiles) << row.length;
    EXPECT_EQ(TcaPlan::outputs_per_mma(row.length), row.outputs) << row.length;
  }
  EXPECT_EQ(TcaPlan::warps(100'000, 5000), 8 * 1563);  // a block for every 64 nonzeros
  EXPECT_EQ(TcaPlan::mmas(64, 128), 64);
  EXPECT_EQ(TcaPlan::mmas(65, 128), 128);
  EXPECT_EQ(TcaPlan::mmas(32, 128), 32);
  EXPECT_EQ(TcaPlan::mmas(16, 128), 16);
  EXPECT_EQ(TcaPlan::mmas(8, 128), 8);
  EXPECT_EQ(TcaPlan::mmas(0, 128), 0);
}

// Figure 4: rows 0 (8 nonzeros), 1 (8 outputs an MMA), 2 (padded), 3, 4 (32) on one block, row 5 (64) on
// another. By the text's own rule rows 0, 1, 2 and 4 have 1 + 2 + 1 + 4 warps, which is all of a block: row 3
// must be empty, without a warp. An empty row of ours has one, which writes zeros, in a third block.
TEST(OpsTcaPlan, FigureFourOfTheText) {
  const auto rows_of_warps = [](const std::vector<std::int64_t>& lengths) {
    return make_tca_plan(graph_with_lengths(lengths, 80), {}, 4)
        .row_id_for_each_warp.to_vector<std::int32_t>();
  };
  EXPECT_EQ(rows_of_warps({8, 12, 5, 32, 64}),
            (std::vector<std::int32_t>{4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 1, 1, 0, 2}));
  EXPECT_EQ(rows_of_warps({8, 12, 5, 0, 32, 64}),
            (std::vector<std::int32_t>{5, 5, 5, 5, 5, 5,  5,  5,  4,  4,  4,  4,
                                       1, 1, 0, 2, 3, -1, -1, -1, -1, -1, -1, -1}));
}

// The text says 5 for a sparsity of 0.9 instead of 0.5, by lengths in proportion. Chunks of 64 nonzeros are
// whole: of 8192 columns 819 take 13 and 4096 take 64.
TEST(OpsTcaPlan, MmasBySparsity) {
  const auto ratio = [](std::int64_t columns) {
    return static_cast<double>(TcaPlan::mmas(columns / 2, 128)) /
           static_cast<double>(TcaPlan::mmas(columns / 10, 128));
  };
  EXPECT_NEAR(ratio(8192), 4.923, 0.001);
  EXPECT_EQ(ratio(6400), 5) << "3200 and 640 nonzeros are whole chunks";
}

void check_plan(const Adjacency& adj, const TcaPlan& plan, std::int64_t tiles, const std::string& what) {
  const auto row_id = plan.row_id_for_each_warp.to_vector<std::int32_t>(),
             num_warps = plan.num_warps_per_row.to_vector<std::int32_t>(),
             warp_id = plan.warpid_within_row.to_vector<std::int32_t>();
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  ASSERT_EQ(row_id.size(), warp_id.size()) << what;
  ASSERT_EQ(row_id.size() % TcaPlan::kWarps, 0U) << what;
  ASSERT_EQ(static_cast<std::int64_t>(num_warps.size()), adj.rows()) << what;
  std::map<std::int32_t, std::set<std::int32_t>> seen;
  for (std::size_t w = 0; w < row_id.size(); ++w) {
    if (row_id[w] < 0) continue;
    ASSERT_TRUE(seen[row_id[w]].insert(warp_id[w]).second) << what;
    // A row's share of a block is aligned, so that it has the same shared memory in every block.
    const int of_block = std::min(num_warps[row_id[w]], TcaPlan::kWarps);
    ASSERT_EQ(w % of_block, static_cast<std::size_t>(warp_id[w] % of_block)) << what;
  }
  ASSERT_EQ(static_cast<std::int64_t>(seen.size()), adj.rows()) << what << ": every row, also empty ones";
  for (const auto& [row, warps] : seen) {
    ASSERT_EQ(num_warps[row], TcaPlan::warps(row_ptr[row + 1] - row_ptr[row], tiles)) << what;
    ASSERT_EQ(static_cast<std::int32_t>(warps.size()), num_warps[row]) << what;
    ASSERT_EQ(*warps.rbegin(), num_warps[row] - 1) << what;
  }
}

TEST(OpsTcaPlan, EveryWarpOfEveryRowOnce) {
  for (const std::int64_t tiles : kTiles) {
    for (const SparseCase& sparse_case : sparse_cases()) {
      const Adjacency adj = sparse_case.make();
      check_plan(adj, make_tca_plan(adj, {}, tiles), tiles, str(sparse_case.name, " ", tiles));
    }
    check_plan(borders(), make_tca_plan(borders(), {}, tiles), tiles, "borders");
  }
  EXPECT_ERROR(make_tca_plan(borders(), {}, 0), "[tca_plan] tiles must be at least 1, got 0");
}

TEST(OpsTcaPlan, BlocksAreSortedBySizeThenClusterThenPlaceInTheRow) {
  struct Case {
    std::int64_t warps;
    int cluster;
    std::int64_t block;
    std::uint16_t rank;
  };
  for (const Case& c : {Case{8, 0, 0, 0},
                        {16, 0, 1, 1},
                        {512, 0, 62, 62},
                        {1000, 0, 63, 63},
                        {1000, 0, 64, 63},
                        {8, 1, 0, 64},
                        {8, 255, 64, 16383},
                        {4, 0, 0, 16384},
                        {4, 255, 0, 32704},
                        {2, 0, 0, 32768},
                        {1, 0, 0, 49152},
                        {1, 255, 0, 65472}})
    EXPECT_EQ(TcaPlan::rank(c.warps, c.cluster, c.block), c.rank) << c.warps << " " << c.cluster;

  const Adjacency adj =
      graph_with_lengths({130, 130, 3, 130}, 200);  // three rows of two blocks, one of a warp
  const TcaPlan plan = make_tca_plan(adj, Tensor::from<std::uint8_t>({1, 0, 0, 1}), 2);
  const auto row_id = plan.row_id_for_each_warp.to_vector<std::int32_t>(),
             warp_id = plan.warpid_within_row.to_vector<std::int32_t>();
  std::vector<std::pair<int, int>> blocks;  // row, block within it
  for (std::size_t w = 0; w < row_id.size(); w += 8) blocks.emplace_back(row_id[w], warp_id[w] / 8);
  EXPECT_EQ(blocks,
            (std::vector<std::pair<int, int>>{{1, 0}, {1, 1}, {0, 0}, {3, 0}, {0, 1}, {3, 1}, {2, 0}}));
  EXPECT_EQ(std::count(row_id.begin(), row_id.end(), -1), 7);
}

TEST(OpsTcaPlan, TheNumberOfMmasIsThatOfTheCostModel) {
  std::vector<Adjacency> graphs{borders()};
  for (const SparseCase& sparse_case : sparse_cases()) graphs.push_back(sparse_case.make());
  for (const Adjacency& adj : graphs) {
    const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    for (const std::size_t bytes : {2, 4})
      for (const std::int64_t n : {32, 64, 96, 128, 256, 608}) {
        const TcaPlan plan = make_tca_plan(adj, {}, TcaPlan::tiles(n, bytes));
        EXPECT_EQ(count_mmas(plan, row_ptr, n, bytes), model_mmas(row_ptr, n))
            << adj.num_edges() << " edges, n=" << n;
      }
  }
  // 130 nonzeros are 3 chunks of 64.
  const std::vector<std::int64_t> one_row{0, 130};
  EXPECT_EQ(model_mmas(one_row, 128), 3 * 64);
}

TEST(OpsTcaPlan, TheDevicesPlanEqualsTheHosts) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  std::vector<Adjacency> graphs{borders(), graph_with_lengths({0, 0, 0}, 3)};
  for (const SparseCase& sparse_case : sparse_cases()) graphs.push_back(sparse_case.make());
  graphs.push_back(
      to_graph(synthesize({.nodes = 3000, .edges = 200'000, .features = 1, .classes = 5}), kCpu).adj);
  for (const Adjacency& host : graphs)
    for (const std::int64_t tiles : kTiles)
      for (const bool clustered : {false, true}) {
        std::vector<std::uint8_t> groups;
        for (std::int64_t row = 0; row < host.rows(); ++row)
          groups.push_back(static_cast<std::uint8_t>(row * 31 % 256));
        const Tensor cluster = clustered ? Tensor::from(groups) : Tensor();
        const TcaPlan want = make_tca_plan(host, cluster, tiles);
        const TcaPlan got =
            make_tca_plan(host.to(cuda_device()), clustered ? cluster.to(cuda_device()) : Tensor(), tiles);
        const std::string what = str(host.rows(), " rows, ", tiles, " tiles, clustered ", clustered);
        EXPECT_TRUE(same_bits(got.row_id_for_each_warp.to(kCpu), want.row_id_for_each_warp)) << what;
        EXPECT_TRUE(same_bits(got.num_warps_per_row.to(kCpu), want.num_warps_per_row)) << what;
        EXPECT_TRUE(same_bits(got.warpid_within_row.to(kCpu), want.warpid_within_row)) << what;
      }
}

TEST(OpsTcaPlan, IsMadeBeforeACaptureOrNotAtAll) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  const Adjacency adj = borders().to(cuda_device());
  EXPECT_THROW(CudaGraph::capture(cuda_device(), [&] { tca_plan(adj, 2); }), Error);
  const TcaPlan& plan = tca_plan(adj, 2);
  EXPECT_EQ(&tca_plan(adj, 2), &plan) << "cached";
  EXPECT_NE(&tca_plan(adj, 3), &plan) << "by the number of tiles";
}

}  // namespace
}  // namespace rodeo::test
