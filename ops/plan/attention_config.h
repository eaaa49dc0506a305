/// Launch configurations of attention, edge softmax and operators on heads (ops/cuda/attention): pure
/// functions of sizes and device properties.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/device_properties.h"

namespace rodeo {

/// The most elements of a head that the fused forms of dot_attention and gatv2_attention on CUDA take: a head
/// is in the registers of a warp.
constexpr std::int64_t most_fused_columns(int element_bytes) {
  return element_bytes == 8 ? 64 : 256;
}
/// How these forms hold a head of k elements: `lanes` lanes, each with `loads` loads of 16 bytes. A lane
/// computes the index and the weight of an edge once, for one load or two. f32 has two, as many elements as
/// 16-bit types have in one; heads of 17 to 32 elements have one load in each of 8 lanes.
struct HeadLanes {
  int lanes, loads;
  bool whole;  // no lane reads past the end of the head
  bool operator==(const HeadLanes&) const = default;
};
std::ostream& operator<<(std::ostream& out, const HeadLanes& lanes);
HeadLanes choose_head_lanes(std::int64_t k, int element_bytes);

/// How fused attention covers the columns of all heads: whole tiles of 512 bytes (32 lanes of 16 bytes), or
/// wide tiles of 128 bytes (8 lanes), then at most one narrow tile of 64 bytes (4 lanes) where the rest fits
/// it. Every tile reads the columns and scores of all edges again.
struct AttentionTiles {
  int whole, wide, narrow;
  int most_lanes() const { return whole > 0 ? 32 : wide > 0 ? 8 : 4; }
  bool operator==(const AttentionTiles&) const = default;
};
std::ostream& operator<<(std::ostream& out, const AttentionTiles& tiles);
/// f64 has wide tiles alone: its kernels are a reference, and compile once.
AttentionTiles choose_attention_tiles(int columns, int element_bytes);

/// Fused attention over residual rows of RoDe's plan, several of them a warp
/// (ops/cuda/attention/short_rows.cuh): `tiles` column tiles of `loads` loads of 512 bytes, with parts of up
/// to `heads` heads each.
struct ShortRowsConfig {
  static constexpr int kMaxRows = 8, kMaxHeads = 8;  // numbers of (edge, head) pairs are in shared memory

  int loads = 0, tiles = 0, heads = 0, rows = 0;
  bool covers() const { return loads > 0; }
  bool operator==(const ShortRowsConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ShortRowsConfig& config);
/// Covers nothing where the columns are no whole tiles, or where a tile has more than kMaxHeads heads.
ShortRowsConfig choose_short_rows(int heads, int k, int element_bytes);

/// Lanes for a head of k elements, kVec elements a lane: the power of two that covers it, up to a warp.
constexpr int lanes_per_head(std::int64_t k, int vec) {
  int lanes = 1;
  while (lanes < 32 && static_cast<std::int64_t>(lanes) * vec < k) lanes *= 2;
  return lanes;
}

/// head_dot on x [rows, heads, k]: a block of block_heads x block_rows threads; `lanes` threads share a head.
struct HeadDotConfig {
  static constexpr int kThreads = 256;
  static constexpr int kRows = 4;      // of a thread in flight
  static constexpr int kMaxLanes = 4;  // every doubling costs two shuffles a row

  int lanes, block_width, block_rows;
  std::int64_t row_blocks, head_tiles;
  bool operator==(const HeadDotConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const HeadDotConfig& config);
HeadDotConfig choose_head_dot(std::int64_t rows, std::int64_t heads, std::int64_t k, int vec,
                              const DeviceProperties& device);

/// edge_softmax: heads are cut into equal tiles of at most a warp's lanes; `warps` warps share a piece of a
/// row.
struct EdgeSoftmaxConfig {
  int tile_heads;
  std::int64_t head_tiles;
  int warps;  // 2 or 8
  bool operator==(const EdgeSoftmaxConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const EdgeSoftmaxConfig& config);
/// f64 has 8 warps always, for one kernel.
EdgeSoftmaxConfig choose_edge_softmax(std::int64_t heads, int element_bytes);

}  // namespace rodeo

// Kernel instances. f64 is a reference for tests and has one instance of each kernel.
//
//   kernel                     types         cases                     why
//   gat_attention (fwd, bwd)   f32 bf16 f16  whole, wide, narrow tile  whole: columns and scores read once
//                                                                      narrow: 64 bytes left, half the loads
//                              f64           wide tile
//   short rows (fwd, bwd)      f32 bf16 f16  1 or 2 loads a lane       2: half the loads of scores
//   dot, gatv2 (fwd, 2 x bwd)  f32 bf16 f16  8, 16, 32 lanes a head    a head in the registers of its lanes
//                                            fewer than 8 lanes        several heads a group of lanes
//                                            operands by edge          rare: one tile for all heads
//                              f32           whole heads of 8, 64 and  one address for both loads of a lane
//                                            128 elements
//                              bf16 f16      1 or 4 lanes              heads of 8 and 32: loops unrolled
//                              f64           operands by edge
//   row_terms, layer gradients f32 bf16 f16  16-byte vectors, elements elements: odd k, unaligned rows
//                              f64           elements
//   edge_softmax (fwd, bwd)    f32 bf16 f16  2 or 8 warps a piece      2 warps: fewer than 4 heads
//                              f64           8 warps a piece
//   head_dot, head_outer,      f32 bf16 f16  16-byte vectors, elements elements: odd k, unaligned rows
//   head_dot_sum               f64           elements
