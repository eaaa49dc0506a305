#include "ops/plan/attention_config.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

TEST(OpsAttentionConfig, LanesOfAHead) {
  const auto lanes = [](std::int64_t k, int bytes) { return choose_head_lanes(k, bytes); };
  EXPECT_EQ(lanes(1, 4), (HeadLanes{1, 2, false}));
  EXPECT_EQ(lanes(8, 4), (HeadLanes{1, 2, true}));  // two loads of four elements
  EXPECT_EQ(lanes(9, 4), (HeadLanes{2, 2, false}));
  EXPECT_EQ(lanes(16, 4), (HeadLanes{2, 2, true}));
  EXPECT_EQ(lanes(17, 4), (HeadLanes{8, 1, false}));
  EXPECT_EQ(lanes(32, 4), (HeadLanes{8, 1, true}));  // one load of eight lanes has the head
  EXPECT_EQ(lanes(33, 4), (HeadLanes{8, 2, false}));
  EXPECT_EQ(lanes(64, 4), (HeadLanes{8, 2, true}));
  EXPECT_EQ(lanes(128, 4), (HeadLanes{16, 2, true}));
  EXPECT_EQ(lanes(most_fused_columns(4), 4), (HeadLanes{32, 2, true}));
  EXPECT_EQ(lanes(8, 2), (HeadLanes{1, 1, true}));
  EXPECT_EQ(lanes(32, 2), (HeadLanes{4, 1, true}));
  EXPECT_EQ(lanes(most_fused_columns(2), 2), (HeadLanes{32, 1, true}));
  EXPECT_EQ(lanes(7, 8), (HeadLanes{4, 1, false}));
  EXPECT_EQ(lanes(most_fused_columns(8), 8), (HeadLanes{32, 1, true}));
  std::ostringstream text;
  text << lanes(8, 4);
  EXPECT_EQ(text.str(), "1 lane of 2 loads a head, whole");
}

TEST(OpsAttentionConfig, ColumnTiles) {
  struct Case {
    int columns, element_bytes;
    AttentionTiles tiles;
  };
  const Case cases[] = {{64, 4, {0, 2, 0}},  {16, 4, {0, 0, 1}}, {17, 4, {0, 1, 0}}, {8, 4, {0, 0, 1}},
                        {48, 4, {0, 1, 1}},  {32, 4, {0, 1, 0}}, {40, 2, {0, 1, 0}}, {32, 2, {0, 0, 1}},
                        {64, 2, {0, 1, 0}},  {96, 2, {0, 1, 1}}, {8, 8, {0, 1, 0}},  {16, 8, {0, 1, 0}},
                        {20, 8, {0, 2, 0}},  {64, 8, {0, 4, 0}}, {96, 4, {0, 3, 0}}, {128, 4, {1, 0, 0}},
                        {256, 4, {2, 0, 0}}, {512, 2, {2, 0, 0}}};
  for (const Case& c : cases)
    EXPECT_EQ(choose_attention_tiles(c.columns, c.element_bytes), c.tiles)
        << c.columns << " columns of " << c.element_bytes << " bytes";
}

TEST(OpsAttentionConfig, ColumnTilesCoverAllColumns) {
  for (const int bytes : {2, 4, 8})
    for (int columns = 16 / bytes; columns <= 300; columns += 16 / bytes) {
      const AttentionTiles tiles = choose_attention_tiles(columns, bytes);
      EXPECT_GE(tiles.whole * 512 / bytes + tiles.wide * 128 / bytes + tiles.narrow * 64 / bytes, columns);
      EXPECT_LE(tiles.narrow, bytes < 8 ? 1 : 0);
    }
}

TEST(OpsAttentionConfig, ShortRows) {
  EXPECT_EQ(choose_short_rows(4, 128, 2), (ShortRowsConfig{2, 1, 4, 8}));  // MLPerf's R-GAT
  EXPECT_EQ(choose_short_rows(1, 128, 4), (ShortRowsConfig{1, 1, 1, 8}));
  EXPECT_EQ(choose_short_rows(4, 128, 4), (ShortRowsConfig{2, 2, 2, 8}));
  EXPECT_EQ(choose_short_rows(8, 16, 4), (ShortRowsConfig{1, 1, 8, 4}));
  EXPECT_EQ(choose_short_rows(1, 1024, 4), (ShortRowsConfig{2, 4, 1, 8}));  // a head of four tiles
  EXPECT_EQ(choose_short_rows(4, 96, 4), (ShortRowsConfig{1, 3, 2, 8}));    // heads across tiles
  EXPECT_FALSE(choose_short_rows(16, 8, 4).covers());                       // 16 heads in a tile
  EXPECT_FALSE(choose_short_rows(8, 8, 4).covers());                        // half a tile
  EXPECT_FALSE(choose_short_rows(2, 128, 8).covers());                      // f64 has no whole tiles
}

TEST(OpsAttentionConfig, LanesPerHead) {
  EXPECT_EQ(lanes_per_head(1, 1), 1);
  EXPECT_EQ(lanes_per_head(8, 4), 2);
  EXPECT_EQ(lanes_per_head(9, 4), 4);
  EXPECT_EQ(lanes_per_head(41, 1), 32);
  EXPECT_EQ(lanes_per_head(1000, 4), 32);
}

TEST(OpsAttentionConfig, HeadDot) {
  struct Case {
    std::int64_t rows, heads, k;
    int vec;
    HeadDotConfig config;
  };
  const Case cases[] = {{2708, 8, 8, 4, {2, 16, 16, 43, 1}},
                        {169343, 3, 250, 1, {4, 16, 16, 1056, 1}},
                        {232965, 1, 64, 4, {4, 4, 64, 911, 1}},
                        {10, 40, 1, 1, {1, 32, 8, 1, 2}}};
  for (const Case& c : cases)
    EXPECT_EQ(choose_head_dot(c.rows, c.heads, c.k, c.vec, kH200), c.config)
        << c.rows << " x " << c.heads << " x " << c.k << ": "
        << choose_head_dot(c.rows, c.heads, c.k, c.vec, kH200);
}

TEST(OpsAttentionConfig, EdgeSoftmax) {
  const std::pair<std::int64_t, EdgeSoftmaxConfig> cases[] = {
      {1, {1, 1, 2}}, {3, {3, 1, 2}}, {4, {4, 1, 8}}, {8, {8, 1, 8}}, {32, {32, 1, 8}}, {33, {17, 2, 8}}};
  for (const auto& [heads, config] : cases)
    EXPECT_EQ(choose_edge_softmax(heads, 4), config) << heads << ": " << choose_edge_softmax(heads, 4);
  EXPECT_EQ(choose_edge_softmax(1, 8).warps, 8);
}

TEST(OpsAttentionConfig, ConfigurationsPrintThemselves) {
  std::ostringstream out;
  out << AttentionTiles{0, 2, 1} << "; " << HeadDotConfig{2, 16, 16, 43, 1} << "; "
      << EdgeSoftmaxConfig{8, 1, 8} << "; " << ShortRowsConfig{2, 1, 4, 8};
  EXPECT_EQ(
      out.str(),
      "0 whole, 2 wide and 1 narrow column tiles; 2 lanes a head, blocks of 16 x 16 threads, grid of 43 x 1; "
      "1 tiles of 8 heads, 8 warps a piece; 8 rows a warp, 1 tiles of 2 loads and 4 heads");
}

}  // namespace
}  // namespace rodeo::test
