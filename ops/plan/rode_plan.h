/// The row decomposition of RoDe (Pang et al., "A row decomposition-based approach for sparse matrix
/// multiplication on GPUs", PPoPP 2024), as a pure function from row lengths to arrays.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/tensor.h"

namespace rodeo {

/// A row of `length` nonzeros has a block part when it has kBlock of them. The block part is cut into pieces
/// of `split` nonzeros; what remains, a multiple of kBlock and the residue of less than kBlock, is the last
/// piece: fewer than kBlock left over stay with the piece before. Rows without a block part are the residual
/// part.
///
/// The paper lets a kernel of its own add the residue of every row. Here the warp that has the row's last
/// piece adds it, so that a row of up to kSplit + kBlock - 1 nonzeros is written by one warp, once, and only
/// longer rows ("split rows") need a combination. Pieces come longest first, so that a launch ends with small
/// ones; rows of the residual part too, so that the groups of a warp have equal work. Equal lengths keep row
/// order. On large graphs both come cluster by cluster (ops/plan/row_clusters.h), longest first within each,
/// so that rows of X are found in the caches more often.
struct RodePlan {
  static constexpr std::int64_t kBlock = 32;       // N_B
  static constexpr std::int64_t kSplit = 512;      // N_S
  static constexpr std::int64_t kTinySplit = 256;  // N_S where a block takes a piece
  static constexpr std::int64_t kShortSplit =
      128;  // N_S of graphs so small that one piece would hold up the rest
  static constexpr std::int64_t kLongSplit = 2048;  // N_S of graphs that keep a GPU busy with fewer pieces
  static_assert(kSplit % kBlock == 0 && kTinySplit % kBlock == 0 && kShortSplit % kBlock == 0 &&
                    kLongSplit % kBlock == 0,
                "a piece is a whole number of blocks");

  /// N_S by the number of edges: beginning and combining a piece takes as long as some 30 nonzeros.
  static constexpr std::int64_t split_of(std::int64_t edges) {
    constexpr std::int64_t kTiny = 1 << 15, kFew = 1 << 19, kMany = 1 << 24;
    return edges < kTiny ? kTinySplit : edges < kFew ? kShortSplit : edges < kMany ? kSplit : kLongSplit;
  }
  /// Pieces of a row: every nonzero is in exactly one, or in the residual part.
  static constexpr std::int64_t pieces(std::int64_t length, std::int64_t split) {
    return length / split + (length % split >= kBlock ? 1 : 0);
  }
  /// Nonzeros of the piece that begins `remaining` nonzeros before the end of its row.
  static constexpr std::int64_t length_of_piece(std::int64_t remaining, std::int64_t split) {
    return remaining < split + kBlock ? remaining : split;
  }

  Tensor piece_row;            // i32 [pieces]
  Tensor piece_begin;          // i64 [pieces]  first nonzero
  Tensor piece_length;         // i32 [pieces]
  Tensor piece_split;          // i32 [pieces]  which split row it belongs to, or -1
  Tensor residual_row;         // i32 [rows without a block part], empty rows included
  Tensor residual_begin;       // i64 [the same]
  Tensor residual_length;      // i32 [the same]
  Tensor split_slot;           // i64 [split rows + 1]  where its pieces' partial sums begin in the workspace
  std::int64_t num_slots = 0;  // pieces of all split rows
  std::int64_t split = kSplit;
  // Rows of the residual part of more than 16 and 8 nonzeros, which come first; 0 where clusters do.
  std::int64_t residual_over_16 = 0, residual_over_8 = 0;

  std::int64_t num_pieces() const { return piece_row.numel(); }
  std::int64_t num_residual() const { return residual_row.numel(); }
  std::int64_t num_split_rows() const { return split_slot.numel() - 1; }
};

/// "120 pieces, 3 split rows, 2588 residual rows"
std::ostream& operator<<(std::ostream& out, const RodePlan& plan);

}  // namespace rodeo
