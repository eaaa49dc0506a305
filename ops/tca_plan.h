/// The schedule of TCA-SpMM, sparse times dense on tensor cores from plain CSR, as a pure function from row
/// lengths to arrays.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/adjacency.h"

namespace rodeo {

/// Jobs, grouped by the share of a team of 8 warps that they get for each 512 bytes of a row of Y:
///
///   nonzeros of the row   0-8  9-16  17-32  33-64   more
///   warps                   1     2      4      8   8 for each piece
///   kernel part          multirow_per_block          multiblock_per_row
///
/// A longer row is cut into pieces of kSplit nonzeros, each a job; fewer than kChunk left over stay with the
/// piece before. So that a hub does not hold up the launch, its pieces run side by side, and the one that
/// finishes last adds their sums in order.
///
/// The paper keeps row_id_for_each_warp, num_warps_per_row and warpid_within_row, one entry a warp. Grouped
/// like this they need no arrays: warp w of a group has job w % jobs, the group has the number of warps, and
/// w / jobs is the warp's place in the row, which is its tile of columns. Within a group jobs keep row order,
/// or come cluster by cluster (ops/row_clusters.h).
struct TcaPlan {
  static constexpr std::int64_t kChunk = 64;   // nonzeros of one right operand
  static constexpr std::int64_t kSplit = 512;  // nonzeros of a piece
  static_assert(kSplit % kChunk == 0, "a piece is a whole number of chunks");
  static constexpr int kGroups = 5;

  /// 0: longer than kChunk, 1: up to 64 nonzeros, 2: 32, 3: 16, 4: 8.
  static constexpr int group_of(std::int64_t length) {
    return length > kChunk ? 0 : length > 32 ? 1 : length > 16 ? 2 : length > 8 ? 3 : 4;
  }
  /// Jobs that a row is cut into.
  static constexpr std::int64_t pieces(std::int64_t length) {
    return length <= kChunk ? 1 : length / kSplit + (length % kSplit >= kChunk ? 1 : 0);
  }
  /// Nonzeros of the piece that begins `remaining` nonzeros before the end of its row.
  static constexpr std::int64_t piece_length(std::int64_t remaining) {
    return remaining < kSplit + kChunk ? remaining : kSplit;
  }

  Tensor job_row;                           // i32 [jobs]
  Tensor job_length;                        // i32 [jobs]  nonzeros
  Tensor job_begin;                         // i64 [jobs]  first nonzero
  Tensor job_split;                         // i32 [jobs of group 0]  which split row it belongs to, or -1
  Tensor split_slot;                        // i64 [split rows + 1]  where its pieces' sums begin
  std::int64_t group_begin[kGroups + 1]{};  // jobs of group g are group_begin[g] .. group_begin[g + 1] - 1
  std::int64_t num_slots = 0;               // pieces of all split rows

  std::int64_t num_jobs() const { return job_row.numel(); }
  std::int64_t num_split_rows() const { return split_slot.numel() - 1; }
};

/// "12 pieces, 3 split rows; rows of up to 64, 32, 16, 8 nonzeros: 10, 20, 30, 40"
std::ostream& operator<<(std::ostream& out, const TcaPlan& plan);

/// Made on the device of adj; the same arrays on every device. cluster u8 [rows] may be undefined.
TcaPlan make_tca_plan(const Adjacency& adj, const Tensor& cluster = {});

/// The plan of adj, with clusters where RowClusters::pays. Kept on adj, and lives as long.
const TcaPlan& tca_plan(const Adjacency& adj);

}  // namespace rodeo
