/// The work assignment of TCA-SpMM (Han et al., "Tensor core-adapted sparse matrix multiplication",
/// Electronics 13(20), 2024: sections 4.2 and 4.3), as pure functions from row lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo {

/// Which warps compute which row. A block has kWarps warps.
///
/// multirow_per_block: a row of up to 8 / 16 / 32 / 64 nonzeros gets 1 / 2 / 4 / 8 warps. A warp gathers 8
/// nonzeros, and an MMA has 16 / 8 / 4 / 2 outputs, so all rows of a block finish together.
/// multiblock_per_row: a longer row gets several blocks, which split its column tiles: one for every 64
/// nonzeros, but no more than there are tiles.
///
/// The paper keeps the order of rows. Here rows are sorted by their number of warps, most first, so that no
/// row crosses a block. On large graphs the next keys are the cluster of the row (ops/plan/row_clusters.h)
/// and the block within the row, so that consecutive blocks find rows of X in the caches. Equal keys keep the
/// order of rows.
struct TcaPlan {
  static constexpr int kWarps = 8;            // of a block
  static constexpr std::int64_t kChunk = 64;  // nonzeros in the right operand of one MMA
  static constexpr std::int64_t kNonzerosPerWarp = 8;
  static constexpr std::int64_t kTileBytes = 128;       // of each row of X
  static constexpr std::int64_t kMaxColumns = 1 << 28;  // the kernel counts bytes of a row in 32 bits
  static constexpr std::int64_t kMaxLength = 1 << 30;   // of a row, which the kernel counts in 32 bits
  static_assert(kWarps * kNonzerosPerWarp == kChunk, "the warps of a block gather one chunk");

  /// Column tiles of n columns.
  static constexpr std::int64_t tiles(std::int64_t n, std::size_t element_bytes) {
    return (n * static_cast<std::int64_t>(element_bytes) + kTileBytes - 1) / kTileBytes;
  }
  /// Warps of a row; empty rows have one, which writes zeros.
  RODEO_HOST_DEVICE static constexpr std::int64_t warps(std::int64_t length, std::int64_t tiles) {
    if (length <= kNonzerosPerWarp) return 1;
    if (length <= 2 * kNonzerosPerWarp) return 2;
    if (length <= 4 * kNonzerosPerWarp) return 4;
    const std::int64_t blocks = (length + kChunk - 1) / kChunk;
    return kWarps * (blocks < tiles ? blocks : tiles);
  }
  /// Outputs of one m16n8k8 MMA for a row of this length: 16, 8, 4 or 2.
  static constexpr std::int64_t outputs_per_mma(std::int64_t length) {
    return std::int64_t{2} * kWarps / warps(length, 1);
  }
  /// The cost model of the paper: MMAs of a row of n columns, a multiple of outputs_per_mma.
  static constexpr std::int64_t mmas(std::int64_t length, std::int64_t n) {
    return (length + kChunk - 1) / kChunk * (n / outputs_per_mma(length));
  }

  /// Sort key of block `block` of a row; 16 bits.
  RODEO_HOST_DEVICE static constexpr std::uint16_t rank(std::int64_t warps, int cluster, std::int64_t block) {
    constexpr int kBlockBits = 6, kClusterBits = 8, kMostBlock = (1 << kBlockBits) - 1;
    const int size = warps >= kWarps ? 0 : warps == 4 ? 1 : warps == 2 ? 2 : 3;
    const int within = block < kMostBlock ? static_cast<int>(block) : kMostBlock;
    return static_cast<std::uint16_t>((size << kClusterBits | cluster) << kBlockBits | within);
  }
  /// The first rank of rows with at most `warps` warps: 8, 4, 2 or 1; 0: past all ranks.
  RODEO_HOST_DEVICE static constexpr std::int64_t first_rank(int warps) {
    return warps == 0 ? 1 << 16 : rank(warps, 0, 0);
  }

  Tensor row_id_for_each_warp;  // i32 [warps], a multiple of kWarps; -1 where a warp has no row
  Tensor num_warps_per_row;     // i32 [rows]
  Tensor warpid_within_row;     // i32 [warps]
};

/// "1500 warps"
std::ostream& operator<<(std::ostream& out, const TcaPlan& plan);

/// What the kernel executes, counted warp by warp from the plan's arrays. The plan is on the CPU;
/// row_ptr i64 [rows + 1].
std::int64_t count_mmas(const TcaPlan& plan, std::span<const std::int64_t> row_ptr, std::int64_t n,
                        std::size_t element_bytes);
/// The cost model: the sum of TcaPlan::mmas.
std::int64_t model_mmas(std::span<const std::int64_t> row_ptr, std::int64_t n);

}  // namespace rodeo
