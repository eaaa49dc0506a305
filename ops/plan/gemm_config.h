/// Launch configurations of the products of tall matrices (ops/cuda/gemm): pure functions of sizes and device
/// properties. The tables are the template instantiations of the kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>

#include "core/device_properties.h"

namespace rodeo {

constexpr int kGemmDepth = 32;  // terms of a sum that a block stages at once

/// A block tile of mma.m16n8k8: warps_m x warps_n warps, each with mma_m x mma_n tiles of 16 x 8. warps_k
/// warps share the terms of one sum.
struct GemmTile {
  int warps_m, warps_n, mma_m, mma_n, warps_k = 1;

  constexpr int threads() const { return warps_m * warps_n * warps_k * 32; }
  constexpr int rows() const { return warps_m * mma_m * 16; }
  constexpr int columns() const { return warps_n * mma_n * 8; }
  bool operator==(const GemmTile&) const = default;
};
std::ostream& operator<<(std::ostream& out, const GemmTile& tile);

/// Tiles of y = D(x) w. Twice each: w as it is, or transposed for dx.
inline constexpr GemmTile kTallTiles[] = {
    {1, 1, 1, 2, 4},  // up to 16 columns, long sums, few rows: four warps share the sums of 16 rows
    {4, 1, 1, 2},     // up to 16 columns: classes of Cora, PubMed, ogbn-arxiv heads
    {4, 1, 1, 6},     // up to 48 columns: 40, 41 and 47 classes
    {2, 2, 2, 4},     // wider
};
/// y is [rows, columns], each element a sum of `depth` terms.
GemmTile choose_tall_tile(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                          const DeviceProperties& device);

/// Tiles of dw = D(x)^T dy.
inline constexpr GemmTile kTallTransposedTiles[] = {
    {2, 1, 1, 2},  // up to 32 columns of x, 16 of dy
    {2, 1, 1, 6},  // up to 32 columns of x, more of dy
    {4, 1, 2, 2},  // up to 16 columns of dy
    {4, 2, 2, 3},  // up to 48 columns of dy
    {4, 2, 2, 4},  // wider
};
/// dw is [x_columns, dy_columns].
GemmTile choose_tall_transposed_tile(std::int64_t x_columns, std::int64_t dy_columns);
/// Blocks of a multiprocessor: 512 threads of 128 registers each fill its register file.
constexpr int tall_transposed_blocks(const GemmTile& tile) {
  return 512 / tile.threads();
}

/// The rows of x^T dy are cut into parts that blocks sum independently; a second kernel adds the parts in
/// order.
struct RowParts {
  std::int64_t chunk, parts;  // rows of a part, a multiple of kGemmDepth; how many
  bool operator==(const RowParts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const RowParts& parts);
/// Splits rows into as many parts as fill the device in one wave: `tiles` blocks a part,
/// blocks_per_multiprocessor resident.
RowParts split_rows(std::int64_t rows, std::int64_t tiles, int blocks_per_multiprocessor,
                    const DeviceProperties& device);

/// Widths of the wgmma kernels of y = D(x) w: columns of y that a block computes.
inline constexpr int kWgmmaWidths[] = {16, 48, 64, 128};
/// Widths where operands have several parts. Only dx has up to 64 columns then.
inline constexpr int kWgmmaWidthsOfParts[] = {64, 128};
/// Widths of dw = D(x)^T dy. With a ReLU mask 128 alone: linear() calls it for more than 64 columns only.
inline constexpr int kWgmmaTransposedWidths[] = {16, 48, 128};
int choose_wgmma_width(std::int64_t columns, bool parts = false);
int choose_wgmma_transposed_width(std::int64_t columns, bool masked);

/// Shared memory of the wgmma kernel of y = D(x) w, in floats unless it says bytes.
struct WgmmaShared {
  static constexpr int kSlots = 3;  // stages of x in flight
  int width;

  constexpr int warpgroups() const { return width == 16 ? 4 : width <= 64 ? 3 : 2; }  // registers allow
  constexpr int warps() const { return warpgroups() * 4; }
  constexpr int x_stage() const { return 16 * kGemmDepth; }   // of a warp
  constexpr int sides() const { return width > 64 ? 2 : 1; }  // y is written in so many steps
  constexpr int y_pitch() const { return width / sides() + 8; }
  constexpr int y_stage() const { return 16 * y_pitch(); }  // of a warp
  constexpr int fixed_bytes() const { return (warps() * (kSlots * x_stage() + y_stage()) + width) * 4; }
  constexpr int chunk_bytes() const { return 2 * kGemmDepth * width * 4; }  // TF32 halves of 32 rows of w
};

/// Launch of the wgmma kernel of y = D(x) w.
struct WgmmaConfig {
  int width;      // of kWgmmaWidths
  bool resident;  // all of w stays in shared memory; else two chunks of it
  int shared_bytes;
  std::int64_t blocks, column_tiles;  // one block per multiprocessor
  bool operator==(const WgmmaConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const WgmmaConfig& config);
/// parts: of operands in several parts.
WgmmaConfig choose_wgmma(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                         const DeviceProperties& device, bool parts = false);

}  // namespace rodeo

// Kernel instances, f32 only; other types use cuBLASLt.
//
//   kernel                      cases                                           why
//   tall_matmul                 kTallTiles x (w, w^T)                           w^T: dx = dy w^T
//   tall_matmul_transposed      kTallTransposedTiles
//   wgmma_matmul                kWgmmaWidths x (w, w^T) x (resident, streamed)  streamed: w is larger
//                               128, and w^T of kWgmmaWidthsOfParts, the same   operands in several parts
//   wgmma_matmul_transposed     kWgmmaTransposedWidths, 128 with a ReLU mask    128 with dy in several parts
