#include "ops/plan/gemm_config.h"

#include <ostream>

namespace rodeo {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Thresholds on rows were measured with this many multiprocessors and scale with them.
constexpr std::int64_t kMeasuredMultiprocessors = 132;

}  // namespace

GemmTile choose_tall_tile(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                          const DeviceProperties& device) {
  // Tiles of 64 rows would leave multiprocessors idle below this.
  constexpr std::int64_t kFewRows = 8192, kLongSum = 128;
  const bool few_rows = rows * kMeasuredMultiprocessors < kFewRows * device.num_multiprocessors;
  if (columns <= 16) return kTallTiles[few_rows && depth >= kLongSum ? 0 : 1];
  return kTallTiles[columns <= 48 ? 2 : 3];
}

GemmTile choose_tall_transposed_tile(std::int64_t x_columns, std::int64_t dy_columns) {
  if (x_columns <= 32) return kTallTransposedTiles[dy_columns <= 16 ? 0 : 1];
  return kTallTransposedTiles[dy_columns <= 16 ? 2 : dy_columns <= 48 ? 3 : 4];
}

RowParts split_rows(std::int64_t rows, std::int64_t tiles, int blocks_per_multiprocessor,
                    const DeviceProperties& device) {
  const std::int64_t resident = std::int64_t{device.num_multiprocessors} * blocks_per_multiprocessor;
  const std::int64_t wanted = std::max<std::int64_t>(1, resident / tiles);
  const std::int64_t chunk = ceil_div(ceil_div(rows, wanted), kGemmDepth) * kGemmDepth;
  return {chunk, ceil_div(rows, chunk)};
}

int choose_wgmma_width(std::int64_t columns, bool parts) {
  if (parts) return columns <= 64 ? 64 : 128;
  return columns <= 16 ? 16 : columns <= 48 ? 48 : columns <= 64 ? 64 : 128;
}

int choose_wgmma_transposed_width(std::int64_t columns, bool masked) {
  return masked || columns > 48 ? 128 : columns <= 16 ? 16 : 48;
}

WgmmaConfig choose_wgmma(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                         const DeviceProperties& device, bool parts) {
  const WgmmaShared shared{choose_wgmma_width(columns, parts)};
  const auto chunks = static_cast<int>(ceil_div(depth, kGemmDepth));
  const int most =
      (static_cast<int>(device.shared_bytes_per_block) - shared.fixed_bytes()) / shared.chunk_bytes();
  const bool resident = chunks <= most;
  const std::int64_t tiles = ceil_div(columns, shared.width);
  return {
      .width = shared.width,
      .resident = resident,
      .shared_bytes = shared.fixed_bytes() + (resident ? chunks : 2) * shared.chunk_bytes(),
      .blocks = std::max<std::int64_t>(1, std::min(device.num_multiprocessors / tiles,
                                                   ceil_div(rows, std::int64_t{64} * shared.warpgroups()))),
      .column_tiles = tiles};
}

std::ostream& operator<<(std::ostream& out, const GemmTile& tile) {
  out << "tile of " << tile.rows() << " x " << tile.columns() << ", " << tile.threads() << " threads";
  return tile.warps_k > 1 ? out << ", " << tile.warps_k << " warps a sum" : out;
}

std::ostream& operator<<(std::ostream& out, const RowParts& parts) {
  return out << parts.parts << " parts of " << parts.chunk << " rows";
}

std::ostream& operator<<(std::ostream& out, const WgmmaConfig& config) {
  return out << "wgmma of " << config.width << " columns, w " << (config.resident ? "resident" : "streamed")
             << ", " << config.blocks << " x " << config.column_tiles << " blocks, " << config.shared_bytes
             << " bytes of shared memory";
}

}  // namespace rodeo
