#include "ops/plan/rode_plan.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "datasets/dataset.h"
#include "datasets/synthetic.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/graph_plans.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

constexpr RodeOptions kOptions[] = {{128},
                                    {RodePlan::kShortSplit},
                                    {RodePlan::kSplit},
                                    {RodePlan::kLongSplit},
                                    {.block = 8},
                                    {.block = 16},
                                    {.block = 64},
                                    {.split = 32},
                                    {.split = 96},
                                    {8, 8},
                                    {64, 64},
                                    {24, 8},
                                    {2048, 8},
                                    {1008, 16},
                                    {RodePlan::kMaxSplit}};

TEST(OpsRodePlan, PiecesAtTheEdges) {
  const std::pair<std::int64_t, std::int64_t> expected[] = {
      {0, 0},   {1, 0},   {31, 0},   {32, 1},   {33, 1},   {511, 1},  {512, 1},
      {543, 1}, {544, 2}, {1023, 2}, {1024, 2}, {1055, 2}, {1056, 3}, {100000, 196}};
  for (const auto& [length, pieces] : expected)
    EXPECT_EQ(RodePlan::pieces(length, {RodePlan::kSplit}), pieces) << "length " << length;
}

TEST(OpsRodePlan, TheLastPieceTakesARestThatIsShorterThanABlock) {
  for (const auto& [remaining, length] : {std::pair{32, 32}, {512, 512}, {543, 543}, {544, 512}, {1055, 512}})
    EXPECT_EQ(RodePlan::length_of_piece(remaining, {RodePlan::kSplit}), length) << remaining;
  // 2048 + 7 nonzeros have 256 whole blocks; residual rows have up to 31 nonzeros.
  EXPECT_EQ(RodePlan::longest_rank({2048, 8}), 256);
  EXPECT_EQ(RodePlan::longest_rank({512, 32}), 31);
}

// The kernel's time is that of whole blocks.
TEST(OpsRodePlan, PiecesOfAsManyBlocksKeepTheOrderOfRows) {
  const RodePlan plan = make_rode_plan(graph_with_lengths({40, 63, 64, 5, 300, 9}, 400), {}, {256, 32});
  EXPECT_EQ(plan.piece_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{4, 2, 0, 1, 4}));
  EXPECT_EQ(plan.piece_split.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, -1, -1, -1, 0}));
  EXPECT_EQ(plan.residual_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{5, 3}));
}

TEST(OpsRodePlan, DefaultsFollowTheSizeOfTheGraph) {
  const std::pair<std::int64_t, std::int64_t> expected[] = {
      {0, 256}, {(1 << 19) - 1, 256}, {1 << 19, 512}, {(1 << 24) - 1, 512}, {1 << 24, 2048}};
  for (const auto& [edges, split] : expected)
    EXPECT_EQ(RodePlan::resolve({}, edges), (RodeOptions{split, 32})) << edges << " edges";
  EXPECT_EQ(RodePlan::resolve({96, 16}, 1 << 24), (RodeOptions{96, 16}));
  EXPECT_EQ(str(RodeOptions{}), "split by size, block 32");
  EXPECT_EQ(str(RodeOptions{512, 64}), "split 512, block 64");
}

TEST(OpsRodePlan, RefusesOtherOptions) {
  for (const std::int64_t block : {-32, 0, 1, 4, 24, 33, 128})
    EXPECT_ERROR(RodePlan::resolve({.block = block}, 10),
                 str("[rode_plan] block must be 8, 16, 32 or 64, got ", block));
  for (const std::int64_t split :
       {std::int64_t{-32}, std::int64_t{16}, std::int64_t{100}, RodePlan::kMaxSplit + 32})
    EXPECT_ERROR(RodePlan::resolve({split}, 10),
                 str("[rode_plan] split must be a multiple of block = 32 of at most 16777216, got ", split));
  EXPECT_ERROR(make_rode_plan(graph_with_lengths({5}, 5), {}, {8, 16}),
               "[rode_plan] split must be a multiple of block = 16 of at most 16777216, got 8");
}

void check_covers_once(const SparseCase& sparse_case, const RodeOptions& asked) {
  const Adjacency adj = sparse_case.make();
  const RodeOptions options = RodePlan::resolve(asked, adj.num_edges());
  const RodePlan plan = make_rode_plan(adj, {}, asked);
  EXPECT_EQ((RodeOptions{plan.split, plan.block}), options);
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  std::vector<int> covered(static_cast<std::size_t>(adj.num_edges())),
      written(static_cast<std::size_t>(adj.rows()));
  const auto cover = [&](std::int64_t begin, std::int64_t length) {
    for (std::int64_t e = begin; e < begin + length; ++e) ++covered.at(static_cast<std::size_t>(e));
  };
  const auto row = plan.piece_row.to_vector<std::int32_t>(),
             split = plan.piece_split.to_vector<std::int32_t>();
  const auto begin = plan.piece_begin.to_vector<std::int64_t>(),
             slot = plan.split_slot.to_vector<std::int64_t>();
  std::vector<int> slots_used(static_cast<std::size_t>(plan.num_slots));
  const auto lengths = plan.piece_length.to_vector<std::int32_t>();
  std::int64_t longest = options.split + options.block;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const std::int64_t length = lengths[p];
    EXPECT_GE(length, options.block);
    EXPECT_LT(length, options.split + options.block);
    EXPECT_LE(length / options.block, longest / options.block) << "longest first";
    longest = length;
    cover(begin[p], length);
    if (split[p] < 0)
      ++written[row[p]];
    else
      ++slots_used.at(slot[split[p]] + (begin[p] - row_ptr[row[p]]) / options.split);
  }
  const auto residual_begin = plan.residual_begin.to_vector<std::int64_t>();
  const auto residual_length = plan.residual_length.to_vector<std::int32_t>();
  for (std::size_t i = 0; const std::int32_t r : plan.residual_row.to_vector<std::int32_t>()) {
    EXPECT_LT(row_ptr[r + 1] - row_ptr[r], options.block);
    EXPECT_EQ(residual_begin[i], row_ptr[r]);
    cover(residual_begin[i], residual_length[i]);
    ++written[r], ++i;
  }
  EXPECT_TRUE(std::ranges::all_of(covered, [](int c) { return c == 1; })) << sparse_case.name;
  EXPECT_TRUE(std::ranges::all_of(slots_used, [](int c) { return c == 1; })) << sparse_case.name;
  EXPECT_EQ(std::accumulate(written.begin(), written.end(), 0) + plan.num_split_rows(), adj.rows());
  EXPECT_EQ(slot.back(), plan.num_slots);
  const auto length = plan.residual_length.to_vector<std::int32_t>();
  const auto over = [&](std::int32_t bound) {
    return std::ranges::count_if(length, [=](auto l) { return l > bound; });
  };
  EXPECT_EQ(plan.residual_over_16, over(16)) << sparse_case.name;
  EXPECT_EQ(plan.residual_over_8, over(8)) << sparse_case.name;
}

TEST(OpsRodePlan, CoversEveryNonzeroOnce) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const RodeOptions& options : kOptions) check_covers_once(sparse_case, options);
}

class OpsRodePlanOnDevice : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRodePlanOnDevice);

void expect_equal(const RodePlan& got, const RodePlan& want, const std::string& what) {
  EXPECT_TRUE(same_bits(got.piece_row, want.piece_row)) << what;
  EXPECT_TRUE(same_bits(got.piece_begin, want.piece_begin)) << what;
  EXPECT_TRUE(same_bits(got.piece_split, want.piece_split)) << what;
  EXPECT_TRUE(same_bits(got.residual_row, want.residual_row)) << what;
  EXPECT_TRUE(same_bits(got.piece_length, want.piece_length)) << what;
  EXPECT_TRUE(same_bits(got.residual_begin, want.residual_begin)) << what;
  EXPECT_TRUE(same_bits(got.residual_length, want.residual_length)) << what;
  EXPECT_TRUE(same_bits(got.split_slot, want.split_slot)) << what;
  EXPECT_EQ(got.split, want.split) << what;
  EXPECT_EQ(got.block, want.block) << what;
  EXPECT_EQ(got.num_slots, want.num_slots) << what;
  EXPECT_EQ(got.residual_over_16, want.residual_over_16) << what;
  EXPECT_EQ(got.residual_over_8, want.residual_over_8) << what;
}

TEST_P(OpsRodePlanOnDevice, EqualsTheHostPlan) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make(), there = adj.to(device());
    expect_equal(rode_plan(there), rode_plan(adj), sparse_case.name);
    std::vector<std::uint8_t> group(static_cast<std::size_t>(adj.rows()));
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = static_cast<std::uint8_t>(i * 37 % 256);
    const Tensor cluster = Tensor::from(group);
    for (const RodeOptions& options : kOptions) {
      const std::string what = str(sparse_case.name, ", ", options);
      expect_equal(make_rode_plan(there, {}, options), make_rode_plan(adj, {}, options), what);
      expect_equal(make_rode_plan(there, cluster.to(device()), options),
                   make_rode_plan(adj, cluster, options), what + ", clusters");
    }
  }
}

TEST_P(OpsRodePlanOnDevice, ClustersComeOneAfterAnother) {
  const Adjacency adj = graph_with_lengths({5, 40, 0, 1100, 33, 5, 700, 7}, 50).to(device());
  const RodePlan plan =
      make_rode_plan(adj, Tensor::from(std::vector<std::uint8_t>{9, 9, 0, 0, 255, 0, 9, 255}).to(device()),
                     {RodePlan::kSplit});
  EXPECT_EQ(plan.piece_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 3, 3, 6, 6, 1, 4}));
  EXPECT_EQ(plan.residual_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{5, 2, 0, 7}));
}

TEST_P(OpsRodePlanOnDevice, OnePlanForEachValueOfTheOptions) {
  const Adjacency adj = graph_with_lengths({5, 40, 0, 1100}, 50).to(device());
  const RodePlan& usual = rode_plan(adj);
  const RodeOptions asked{64, 16};
  const RodePlan& other = rode_plan(adj, asked);
  EXPECT_EQ(&rode_plan(adj), &usual);
  EXPECT_EQ(&rode_plan(adj, {64, 16}), &other);
  EXPECT_NE(&rode_plan(adj, {64, 32}), &other);
  EXPECT_EQ(usual.split, RodePlan::kShortSplit);
  EXPECT_EQ(other.split, 64);
  EXPECT_EQ(other.num_pieces(), 1 + 17);  // 40 < 64 + 16; 1100 = 17 * 64 + 12
  EXPECT_EQ(other.num_split_rows(), 1);
}

TEST_P(OpsRodePlanOnDevice, RefusesOtherClusters) {
  const Adjacency adj = graph_with_lengths({5, 40}, 50).to(device());
  EXPECT_ERROR(make_rode_plan(adj, Tensor::zeros({3}, DType::kU8, device())),
               str("[rode_plan] cluster must be u8 [2] on ", device()));
}

TEST(OpsRowClusters, AreUsedOnLargeGraphsAndForLongRows) {
  EXPECT_FALSE(RowClusters::should_use(2708, 2708, 10556));
  EXPECT_FALSE(RowClusters::should_use(169343, 169343, 2315598));      // arxiv
  EXPECT_TRUE(RowClusters::should_use(232965, 232965, 114615892));     // reddit
  EXPECT_TRUE(RowClusters::should_use(2449029, 2449029, 123718280));   // products
  EXPECT_FALSE(RowClusters::should_use(2449029, 2449028, 123718280));  // not square
  EXPECT_FALSE(RowClusters::should_use(100'000'000, 100'000'000, 1000));
  EXPECT_TRUE(RowClusters::should_use(1 << 19, 1 << 19, 4 << 19));
  EXPECT_FALSE(RowClusters::should_use(1 << 19, 1 << 19, (4 << 19) - 1));
  EXPECT_TRUE(RowClusters::should_use(1000, 1000, 1 << 24));
  EXPECT_TRUE(RowClusters::has_long_rows(1 << 14, 1 << 14, 1 << 20));
  EXPECT_FALSE(RowClusters::has_long_rows(1 << 14, 1 << 14, (1 << 20) - 1)) << "few edges";
  EXPECT_FALSE(RowClusters::has_long_rows(1 << 15, 1 << 15, (1 << 21) - 1)) << "short rows";
  EXPECT_FALSE(RowClusters::has_long_rows(1 << 14, 1 << 15, 1 << 20)) << "not square";
}

// 40 blocks of 200 nodes with 150 random edges each into their own block, and the nodes shuffled by a stride.
TEST(OpsRowClusters, SmallGraphsWithLongRowsRunByCluster) {
  constexpr std::int64_t kRows = 8000, kBlock = 200, kLength = 150;
  for (const std::int64_t stride : {1, 2689}) {
    std::vector<std::int32_t> col(kRows * kLength);
    std::vector<std::int64_t> row_ptr(kRows + 1);
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t row = i * stride % kRows;
      row_ptr[static_cast<std::size_t>(i) + 1] = (i + 1) * kLength;
      for (std::int64_t k = 0; k < kLength; ++k) {
        const std::int64_t in_block =
            random_word(1, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k)) % kBlock;
        col[static_cast<std::size_t>(row * kLength + k)] =
            static_cast<std::int32_t>((i / kBlock * kBlock + in_block) * stride % kRows);
      }
    }
    const Adjacency adj({kRows, kRows, Tensor::from(row_ptr), Tensor::from(col)});
    EXPECT_EQ(row_order(adj).cluster.defined(), stride > 1) << "in the order of the file rows are local";
    EXPECT_FALSE(row_order(adj).keeps_file) << "tiles for large graphs";
  }
}

// The plan of a graph as large as clusters need, with the rows of each cluster together.
Dataset community_graph() {
  SyntheticOptions options = synthetic_preset("arxiv");
  options.nodes = 20000, options.edges = 800000, options.classes = 12, options.homophily = 0.8;
  options.label_noise = 0, options.features = options.classes, options.split = "60/20/20";
  return synthesize(options);
}

TEST_P(OpsRodePlanOnDevice, ClustersAreCommunities) {
  const Dataset data = community_graph();
  const Adjacency adj = to_graph(data, device()).adj;
  const auto cluster = cluster_rows(adj).to_vector<std::uint8_t>();
  const auto community = data.y.to_vector<std::int64_t>();
  std::vector<std::array<std::int64_t, 12>> members(256);
  for (std::size_t i = 0; i < cluster.size(); ++i) ++members[cluster[i]][community[i]];
  std::int64_t pure = 0;
  for (const auto& counts : members) pure += *std::ranges::max_element(counts);
  EXPECT_GT(pure, 20000 * 85 / 100);
  EXPECT_TRUE(same_bits(cluster_rows(adj), cluster_rows(adj.to(kCpu))));
}

// Nodes 0 and 1 have only themselves as neighbours and keep their clusters; node 2 has both.
TEST_P(OpsRodePlanOnDevice, OfEquallyFrequentClustersTheLastIsTaken) {
  const Adjacency adj =
      coo_to_csr(Tensor::from<std::int64_t>({0, 1, 2, 2}), Tensor::from<std::int64_t>({0, 1, 0, 1}), 3, 3)
          .adj.to(device());
  const auto cluster = cluster_rows(adj).to_vector<std::uint8_t>();
  EXPECT_NE(cluster[0], cluster[1]);
  EXPECT_EQ(cluster[2], std::max(cluster[0], cluster[1]));
}

TEST_P(OpsRodePlanOnDevice, ClustersOfOddGraphs) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    if (adj.rows() != adj.cols()) {
      EXPECT_ERROR(cluster_rows(adj.to(device())),
                   str("[cluster_rows] the matrix must be square, got ", adj.rows(), " x ", adj.cols()));
    } else {
      EXPECT_TRUE(same_bits(cluster_rows(adj.to(device())), cluster_rows(adj))) << sparse_case.name;
    }
  }
}

}  // namespace
}  // namespace rodeo::test
