#include "ops/plan/gemm_config.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

TEST(OpsGemmConfig, TallTiles) {
  struct Case {
    std::int64_t rows, depth, columns;
    int tile;
  };
  const Case cases[] = {
      {2708, 1433, 7, 0},    {8191, 128, 16, 0},    {8192, 128, 16, 1}, {2708, 127, 16, 1},
      {232965, 602, 41, 2},  {100, 16, 17, 2},      {100, 16, 48, 2},   {232965, 602, 64, 3},
      {100, 16, 49, 3},      {169343, 128, 256, 3}, {1, 1, 1, 1},       {1, 128, 1, 0},
      {2449029, 100, 47, 2},
  };
  for (const Case& c : cases)
    EXPECT_EQ(choose_tall_tile(c.rows, c.depth, c.columns, kH200), kTallTiles[c.tile])
        << c.rows << " x " << c.depth << " x " << c.columns;
}

TEST(OpsGemmConfig, FewRowsScaleWithMultiprocessors) {
  DeviceProperties half = kH200;
  half.num_multiprocessors = 66;
  EXPECT_EQ(choose_tall_tile(4095, 128, 16, half), kTallTiles[0]);
  EXPECT_EQ(choose_tall_tile(4096, 128, 16, half), kTallTiles[1]);
}

TEST(OpsGemmConfig, TallTransposedTiles) {
  struct Case {
    std::int64_t x, dy;
    int tile;
  };
  const Case cases[] = {{16, 7, 0},   {32, 16, 0},  {32, 17, 1},  {17, 64, 1},  {33, 16, 2},
                        {602, 41, 3}, {602, 48, 3}, {602, 49, 4}, {256, 256, 4}};
  for (const Case& c : cases)
    EXPECT_EQ(choose_tall_transposed_tile(c.x, c.dy), kTallTransposedTiles[c.tile]) << c.x << " x " << c.dy;
}

TEST(OpsGemmConfig, BlocksOfTransposedTilesFillARegisterFile) {
  const int blocks[] = {8, 8, 4, 2, 2};
  for (std::size_t i = 0; i < std::size(kTallTransposedTiles); ++i)
    EXPECT_EQ(tall_transposed_blocks(kTallTransposedTiles[i]), blocks[i]) << kTallTransposedTiles[i];
}

TEST(OpsGemmConfig, RowPartsCoverAllRowsInWholeSteps) {
  EXPECT_EQ(split_rows(232965, 5, 2, kH200), (RowParts{4512, 52}));
  EXPECT_EQ(split_rows(2708, 12, 2, kH200), (RowParts{128, 22}));
  EXPECT_EQ(split_rows(1, 1, 8, kH200), (RowParts{32, 1}));
  EXPECT_EQ(split_rows(1000, 10000, 2, kH200), (RowParts{1024, 1}));
  for (const std::int64_t rows : {1, 31, 32, 33, 4096, 232965})
    for (const std::int64_t tiles : {1, 2, 5, 264, 1000}) {
      const RowParts parts = split_rows(rows, tiles, 2, kH200);
      EXPECT_EQ(parts.chunk % kGemmDepth, 0);
      EXPECT_GE(parts.chunk * parts.parts, rows);
      EXPECT_LT(parts.chunk * (parts.parts - 1), rows);
    }
}

TEST(OpsGemmConfig, WgmmaWidths) {
  const std::pair<int, int> forward[] = {{1, 16},  {16, 16}, {17, 48},  {41, 48},   {48, 48},
                                         {49, 64}, {64, 64}, {65, 128}, {128, 128}, {256, 128}};
  for (const auto& [columns, width] : forward) EXPECT_EQ(choose_wgmma_width(columns), width) << columns;
  EXPECT_EQ(choose_wgmma_transposed_width(16, false), 16);
  EXPECT_EQ(choose_wgmma_transposed_width(48, false), 48);
  EXPECT_EQ(choose_wgmma_transposed_width(49, false), 128);
  EXPECT_EQ(choose_wgmma_transposed_width(16, true), 128);
}

TEST(OpsGemmConfig, Wgmma) {
  struct Case {
    std::int64_t rows, depth, columns;
    WgmmaConfig config;
  };
  const Case cases[] = {
      {232965, 256, 41, {48, true, 215232, 132, 1}},   {232965, 602, 41, {48, false, 141504, 132, 1}},
      {232965, 602, 256, {128, false, 152064, 66, 2}}, {192, 32, 64, {64, true, 145664, 1, 1}},
      {232965, 288, 41, {48, true, 227520, 132, 1}},   {232965, 289, 41, {48, false, 141504, 132, 1}},
      {2708, 1433, 16, {16, false, 131136, 11, 1}},
  };
  for (const Case& c : cases)
    EXPECT_EQ(choose_wgmma(c.rows, c.depth, c.columns, kH200), c.config)
        << c.rows << " x " << c.depth << " x " << c.columns << ": "
        << choose_wgmma(c.rows, c.depth, c.columns, kH200);
  EXPECT_EQ(choose_wgmma(169343, 160, 41, kH200, true).width, 64) << "operands in parts";
  EXPECT_EQ(choose_wgmma(169343, 128, 256, kH200, true), choose_wgmma(169343, 128, 256, kH200));
}

TEST(OpsGemmConfig, WgmmaFitsSharedMemory) {
  for (const int columns : {1, 16, 48, 64, 128, 512})
    for (const int depth : {1, 32, 100, 602, 4096})
      EXPECT_LE(choose_wgmma(100000, depth, columns, kH200).shared_bytes, 232448) << columns << " " << depth;
}

TEST(OpsGemmConfig, ConfigurationsPrintThemselves) {
  std::ostringstream out;
  out << kTallTiles[0] << "; " << RowParts{64, 3} << "; " << WgmmaConfig{48, true, 1024, 132, 1};
  EXPECT_EQ(
      out.str(),
      "tile of 16 x 16, 128 threads, 4 warps a sum; 3 parts of 64 rows; wgmma of 48 columns, w resident, "
      "132 x 1 blocks, 1024 bytes of shared memory");
}

}  // namespace
}  // namespace rodeo::test
