#include "ops/plan/attention_config.h"

#include <algorithm>
#include <bit>
#include <ostream>

#include "core/text.h"

namespace rodeo {
namespace {

constexpr std::int64_t kWarp = 32;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

HeadLanes choose_head_lanes(std::int64_t k, int element_bytes) {
  const int vector = 16 / element_bytes, loads = element_bytes == 4 && (k <= 16 || k > 32) ? 2 : 1;
  const int lanes = lanes_per_head(k, loads * vector);
  return {lanes, loads, k == std::int64_t{lanes} * loads * vector};
}

AttentionTiles choose_attention_tiles(int columns, int element_bytes) {
  const int whole = 512 / element_bytes, wide = 128 / element_bytes, rest = columns % wide;
  if (element_bytes < 8 && columns % whole == 0) return {columns / whole, 0, 0};
  const bool narrow = element_bytes < 8 && rest > 0 && rest <= wide / 2;
  return {0, columns / wide + (rest > 0 && !narrow), narrow};
}

ShortRowsConfig choose_short_rows(int heads, int k, int element_bytes) {
  const int whole = choose_attention_tiles(heads * k, element_bytes).whole;
  if (whole == 0) return {};
  const int loads = whole % 2 == 0 ? 2 : 1, width = loads * 512 / element_bytes, tiles = whole / loads;
  int most = 0;
  for (int tile = 0; tile < tiles; ++tile)
    most = std::max(most, ((tile + 1) * width - 1) / k - tile * width / k + 1);
  if (most > ShortRowsConfig::kMaxHeads) return {};
  return {loads, tiles, most, std::min(ShortRowsConfig::kMaxRows, static_cast<int>(kWarp) / most)};
}

HeadDotConfig choose_head_dot(std::int64_t rows, std::int64_t heads, std::int64_t k, int vec,
                              const DeviceProperties& device) {
  constexpr std::int64_t kMaxGridY = 65535, kBlocksPerMultiprocessor = 8;
  const int lanes = std::min(HeadDotConfig::kMaxLanes, lanes_per_head(k, vec));
  const auto width = static_cast<int>(
      std::min<std::uint64_t>(kWarp, std::bit_ceil(static_cast<std::uint64_t>(heads * lanes))));
  const int block_rows = HeadDotConfig::kThreads / width;
  return {.lanes = lanes,
          .block_width = width,
          .block_rows = block_rows,
          .row_blocks = std::min(kBlocksPerMultiprocessor * device.num_multiprocessors,
                                 ceil_div(rows, std::int64_t{block_rows} * HeadDotConfig::kRows)),
          .head_tiles = std::min(kMaxGridY, ceil_div(heads * lanes, width))};
}

EdgeSoftmaxConfig choose_edge_softmax(std::int64_t heads, int element_bytes) {
  const auto tile = static_cast<int>(ceil_div(heads, ceil_div(heads, kWarp)));
  // With few heads a piece has too few values for 8 warps.
  const bool few_values = tile < 4 && element_bytes < 8;
  return {.tile_heads = tile, .head_tiles = ceil_div(heads, tile), .warps = few_values ? 2 : 8};
}

std::ostream& operator<<(std::ostream& out, const AttentionTiles& tiles) {
  return out << tiles.whole << " whole, " << tiles.wide << " wide and " << tiles.narrow
             << " narrow column tiles";
}

std::ostream& operator<<(std::ostream& out, const HeadLanes& head) {
  return out << count_of(head.lanes, "lane") << " of " << count_of(head.loads, "load") << " a head"
             << (head.whole ? ", whole" : "");
}

std::ostream& operator<<(std::ostream& out, const ShortRowsConfig& config) {
  return out << config.rows << " rows a warp, " << config.tiles << " tiles of " << config.loads
             << " loads and " << config.heads << " heads";
}

std::ostream& operator<<(std::ostream& out, const HeadDotConfig& config) {
  return out << config.lanes << " lanes a head, blocks of " << config.block_width << " x "
             << config.block_rows << " threads, grid of " << config.row_blocks << " x " << config.head_tiles;
}

std::ostream& operator<<(std::ostream& out, const EdgeSoftmaxConfig& config) {
  return out << config.head_tiles << " tiles of " << config.tile_heads << " heads, " << config.warps
             << " warps a piece";
}

}  // namespace rodeo
