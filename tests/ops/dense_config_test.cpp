#include "ops/plan/dense_config.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

using Kernel = EpilogueConfig::Kernel;

TEST(OpsDenseConfig, ColumnTileWidth) {
  const std::pair<std::int64_t, std::int64_t> cases[] = {{1, 1}, {32, 32}, {33, 17}, {64, 32}, {65, 22}};
  for (const auto& [groups, width] : cases) EXPECT_EQ(column_tile_width(groups), width) << groups;
}

TEST(OpsDenseConfig, ColumnSums) {
  struct Case {
    std::int64_t rows, groups;
    int in_flight;
    ColumnSumsConfig config;
  };
  const Case cases[] = {{2708, 16, 2, {16, 16, 1, 32, 85}},
                        {232965, 64, 2, {32, 8, 2, 911, 256}},
                        {1, 1, 4, {1, 256, 1, 1024, 1}},
                        {100, 41, 4, {21, 12, 2, 48, 3}}};
  for (const Case& c : cases) {
    const ColumnSumsConfig config =
        choose_column_sums(c.rows, c.groups, column_tile_width(c.groups), c.in_flight);
    EXPECT_EQ(config, c.config) << c.rows << " x " << c.groups << ": " << config;
  }
}

TEST(OpsDenseConfig, Epilogue) {
  struct Case {
    std::int64_t rows, columns, pitch;
    bool aligned;
    EpilogueConfig config;
  };
  const Case cases[] = {
      {2708, 16, 16, true, {Kernel::kRows, 4, 64, 1, 43}},
      {232965, 256, 256, true, {Kernel::kRows, 32, 8, 2, 396}},
      {232965, 41, 44, true, {Kernel::kPadded, 256, 1, 1, 792}},
      {2708, 7, 7, true, {Kernel::kFlat, 256, 1, 1, 19}},
      {2708, 8, 8, false, {Kernel::kPadded, 256, 1, 1, 22}},
      {20, 131072, 131072, true, {Kernel::kRows, 32, 8, 1024, 1}},  // more tiles than blocks run at a time
  };
  for (const Case& c : cases) {
    const EpilogueConfig config = choose_epilogue(c.rows, c.columns, c.pitch, c.aligned, false, kH200);
    EXPECT_EQ(config, c.config) << c.rows << " x " << c.columns << ": " << config;
    EXPECT_EQ(choose_epilogue(c.rows, c.columns, c.pitch, c.aligned, true, kH200).kernel, Kernel::kPadded);
  }
}

TEST(OpsDenseConfig, LossBlocks) {
  EXPECT_EQ(choose_loss_blocks(0), 0);
  EXPECT_EQ(choose_loss_blocks(1), 1);
  EXPECT_EQ(choose_loss_blocks(33), 2);
  EXPECT_EQ(choose_loss_blocks(1000000), LossConfig::kMaxBlocks);
}

TEST(OpsDenseConfig, ConfigurationsPrintThemselves) {
  std::ostringstream out;
  out << ColumnSumsConfig{16, 16, 1, 32, 85} << "; " << EpilogueConfig{Kernel::kRows, 4, 64, 1, 43};
  EXPECT_EQ(out.str(),
            "85 chunks of 32 rows, 1 column tiles, blocks of 16 x 16 threads; "
            "rows: grid of 1 x 43, blocks of 4 x 64 threads");
}

}  // namespace
}  // namespace rodeo::test
