#include "ops/plan/dense_config.h"

#include <algorithm>
#include <ostream>

namespace rodeo {
namespace {

constexpr std::int64_t kWarp = 32;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

std::int64_t column_tile_width(std::int64_t groups) {
  return ceil_div(groups, ceil_div(groups, kWarp));
}

ColumnSumsConfig choose_column_sums(std::int64_t rows, std::int64_t groups, std::int64_t width,
                                    int rows_in_flight) {
  const std::int64_t block_rows = ColumnSumsConfig::kThreads / width;
  const std::int64_t chunk =
      std::max(block_rows * rows_in_flight, ceil_div(rows, ColumnSumsConfig::kMaxChunks));
  return {.width = width,
          .block_rows = block_rows,
          .column_tiles = ceil_div(groups, width),
          .chunk = chunk,
          .chunks = ceil_div(rows, chunk)};
}

EpilogueConfig choose_epilogue(std::int64_t rows, std::int64_t columns, std::int64_t pitch, bool aligned,
                               bool is_f64, const DeviceProperties& device) {
  constexpr std::int64_t kQuad = EpilogueConfig::kQuad, kThreads = EpilogueConfig::kThreads;
  constexpr std::int64_t kBlocksPerMultiprocessor = 6;
  const std::int64_t most = kBlocksPerMultiprocessor * device.num_multiprocessors;
  if (!is_f64 && aligned && columns % kQuad == 0 && pitch % kQuad == 0) {
    const std::int64_t width = column_tile_width(columns / kQuad), tiles = ceil_div(columns / kQuad, width);
    const std::int64_t block_rows = kThreads / width;
    return {.kernel = EpilogueConfig::Kernel::kRows,
            .block_width = width,
            .block_rows = block_rows,
            .column_tiles = tiles,
            .blocks = std::min(ceil_div(rows, block_rows), std::max<std::int64_t>(1, most / tiles))};
  }
  const bool flat = !is_f64 && aligned && columns == pitch;
  return {.kernel = flat ? EpilogueConfig::Kernel::kFlat : EpilogueConfig::Kernel::kPadded,
          .block_width = kThreads,
          .block_rows = 1,
          .column_tiles = 1,
          .blocks = std::min(ceil_div(ceil_div(rows * columns, kQuad), kThreads), most)};
}

std::int64_t choose_loss_blocks(std::int64_t nodes) {
  return std::min(LossConfig::kMaxBlocks, ceil_div(nodes, LossConfig::kThreads / LossConfig::kLanes));
}

std::ostream& operator<<(std::ostream& out, const ColumnSumsConfig& config) {
  return out << config.chunks << " chunks of " << config.chunk << " rows, " << config.column_tiles
             << " column tiles, blocks of " << config.width << " x " << config.block_rows << " threads";
}

std::ostream& operator<<(std::ostream& out, const EpilogueConfig& config) {
  constexpr const char* kNames[] = {"rows", "flat", "padded"};
  return out << kNames[static_cast<int>(config.kernel)] << ": grid of " << config.column_tiles << " x "
             << config.blocks << ", blocks of " << config.block_width << " x " << config.block_rows
             << " threads";
}

}  // namespace rodeo
