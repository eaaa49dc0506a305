// Choices and tiles of SpMV: pure functions.
#include "ops/plan/spmv_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "ops/plan/spmv_tiles.h"
#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

TEST(OpsSpmvPlan, ThreadsPerVectorIsTheNearestPowerOfTwo) {
  const std::pair<double, int> expected[] = {{0, 2},     {1, 2},    {3, 2},   {3.1, 4},   {5, 4},
                                             {6, 4},     {7, 8},    {12, 8},  {12.5, 16}, {24, 16},
                                             {24.1, 16}, {100, 16}, {1e9, 16}};
  for (const auto& [mean, threads] : expected) EXPECT_EQ(threads_per_vector(mean), threads) << mean;
}

TEST(OpsSpmvPlan, AlgorithmFollowsSizeAndEvenness) {
  const auto choice = [](std::int64_t rows, std::int64_t longest, double mean) {
    return choose_spmv_algorithm(RowLengths{rows, longest, mean});
  };
  EXPECT_EQ(choice(0, 0, 0), SpmvAlgorithm::kVector);
  EXPECT_EQ(choice(10000, 8, 7.9), SpmvAlgorithm::kVector);
  EXPECT_EQ(choice(18333, 136, 8.9), SpmvAlgorithm::kRode);  // coauthor_cs
  EXPECT_EQ(choice(2708, 168, 3.9), SpmvAlgorithm::kRode);
  EXPECT_EQ(choice(4, 100000, 25000), SpmvAlgorithm::kRode);
  EXPECT_EQ(choice(169343, 13000, 13.7), SpmvAlgorithm::kRode);
  EXPECT_EQ(choice(232965, 21657, 492), SpmvAlgorithm::kRode);  // long rows
  EXPECT_EQ(choice(100'000, 27, 26.5), SpmvAlgorithm::kStream);
  EXPECT_EQ(choice(1'000'000, 64, 32), SpmvAlgorithm::kStream);
  EXPECT_EQ(choice(1 << 20, 69518, 16), SpmvAlgorithm::kStream);
  EXPECT_EQ(choice(2449029, 17481, 50.5), SpmvAlgorithm::kStream);
}

TEST(OpsSpmvPlan, BordersOfTheRules) {
  EXPECT_EQ(SpmvTileSize::threads_for(256), SpmvTileSize::kFew);
  EXPECT_EQ(SpmvTileSize::threads_for(257), SpmvTileSize::kMany);
  EXPECT_EQ(choose_spmv_algorithm({10'000, 140, 128}), SpmvAlgorithm::kRode);
  EXPECT_EQ(choose_spmv_algorithm({10'000, 140, 127.9}), SpmvAlgorithm::kStream);
  EXPECT_EQ(choose_spmv_algorithm({100, 40, 10}), SpmvAlgorithm::kVector);
  EXPECT_EQ(choose_spmv_algorithm({100, 41, 10}), SpmvAlgorithm::kRode);
  EXPECT_TRUE(should_stage_x(10'000, 160'000, 4, kH200));
  EXPECT_FALSE(should_stage_x(10'000, 159'999, 4, kH200));
}

// A tile of 256 threads begins 1776 items after the one before. Row r of `length` nonzeros begins with item
// r * (length + 1).
TEST(OpsSpmvPlan, TilesCutRowsOfMoreNonzerosThanThreads) {
  const auto first_cut = [](std::int64_t length) {
    std::vector<std::int64_t> row_ptr;
    for (std::int64_t row = 0; row <= 8; ++row) row_ptr.push_back(row * length);
    const SpmvTiles::Cut cut = SpmvTiles::cut(row_ptr.data(), 8, SpmvTileSize{}, 1);
    return std::pair(cut.begin, cut.row);
  };
  EXPECT_EQ(SpmvTileSize{}.stride(), 1776);
  EXPECT_EQ(first_cut(256), std::pair(7 * std::int64_t{256}, std::int64_t{7}));  // row 6 is not cut
  EXPECT_EQ(first_cut(257), std::pair(std::int64_t{1770}, std::int64_t{7}));     // 6 ends come before
  // The item is the first one of row 1: the tile begins there, not a nonzero later.
  EXPECT_EQ(first_cut(1775), std::pair(std::int64_t{1775}, std::int64_t{1}));
}

TEST(OpsSpmvPlan, FewColumnsThatAreReadOftenAreStaged) {
  EXPECT_TRUE(should_stage_x(11758, 1'038'000, 4, kH200));
  EXPECT_TRUE(should_stage_x(11758, 1'038'000, 8, kH200));
  EXPECT_TRUE(should_stage_x(1000, 198'990, 8, kH200));         // few_columns of spmv_test.cpp
  EXPECT_FALSE(should_stage_x(2277, 62'742, 4, kH200));         // too few edges to fill the GPU
  EXPECT_FALSE(should_stage_x(19717, 88'648, 4, kH200));        // too few edges a column
  EXPECT_FALSE(should_stage_x(232965, 114'600'000, 4, kH200));  // too many columns
  EXPECT_FALSE(should_stage_x(20000, 1'000'000, 8, kH200));
}

TEST(OpsSpmvPlan, IntervalsAreWholeStepsAndShrinkTheList) {
  for (std::int64_t edges = 1; edges < std::int64_t{1} << 40; edges += edges / 3 + 1) {
    const std::int64_t interval = segment_interval(edges), intervals = (edges + interval - 1) / interval;
    EXPECT_EQ(interval % 32, 0) << edges;
    if (intervals > 1) {
      EXPECT_LT(2 * intervals, edges / 64) << edges;
    }
  }
}

}  // namespace
}  // namespace rodeo::test
