/// The row decomposition of RoDe (Pang et al., "A row decomposition-based approach for sparse matrix
/// multiplication on GPUs", PPoPP 2024), as a pure function from row lengths to arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iosfwd>

#include "core/tensor.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Splits the rows of a graph into work for warps.
///
/// Block part: a row with at least `block` nonzeros (N_B) is cut into pieces of `split` nonzeros (N_S). The
/// last piece has the rest of the row: if the rest is shorter than `block`, the piece before takes it.
/// Residual part: all other rows, also empty ones.
/// A row with several pieces is a split row. The sums of its pieces are added at the end.
///
/// The paper adds the residue of every row in a second kernel. Here the warp with the last piece adds it. So
/// one warp writes a row of up to split + block - 1 nonzeros, and only longer rows need to be combined.
///
/// Pieces and residual rows are sorted by length, longest first: a launch ends with small work, and the
/// groups of lanes of a warp have residual rows of similar length. Equal lengths keep the order of rows. On
/// large graphs the first key is the cluster of the row (ops/plan/row_clusters.h), so that consecutive rows
/// find rows of X in the caches.
struct RodePlan {
  static constexpr std::int64_t kBlock = 32;        // N_B of the paper
  static constexpr std::int64_t kSplit = 512;       // N_S of the paper
  static constexpr std::int64_t kShortSplit = 256;  // of small graphs, which a long piece would delay
  static constexpr std::int64_t kLongSplit = 2048;  // of graphs that keep a GPU busy with fewer pieces
  static_assert(kSplit % kBlock == 0 && kShortSplit % kBlock == 0 && kLongSplit % kBlock == 0,
                "a piece is a whole number of blocks");

  /// The length of pieces by the number of edges. To start and combine a piece costs as much as about 30
  /// nonzeros. Does not depend on the device: a plan, and so the order of additions, is the same on all.
  static constexpr std::int64_t default_split(std::int64_t edges) {
    constexpr std::int64_t kFewEdges = 1 << 19, kManyEdges = 1 << 24;
    return edges < kFewEdges ? kShortSplit : edges < kManyEdges ? kSplit : kLongSplit;
  }
  /// Throws Error unless the options are as RodeOptions requires. `edges` replaces split 0 by default_split.
  static RodeOptions resolve(RodeOptions options, std::int64_t edges);
  static constexpr std::int64_t kMaxSplit = 1 << 24;  // keeps lengths and sort keys within 32 bits

  /// The number of pieces of a row; 0 for a residual row. Options are resolved, here and below.
  static constexpr std::int64_t pieces(std::int64_t length, const RodeOptions& options) {
    return length / options.split + (length % options.split >= options.block ? 1 : 0);
  }
  /// The length of a piece that begins `remaining` nonzeros before the end of its row.
  static constexpr std::int64_t length_of_piece(std::int64_t remaining, const RodeOptions& options) {
    return remaining < options.split + options.block ? remaining : options.split;
  }
  /// Pieces are sorted by their whole blocks. The most blocks of a piece, or nonzeros of a residual row.
  static constexpr std::int64_t longest_rank(const RodeOptions& options) {
    return std::max((options.split + options.block - 1) / options.block, options.block - 1);
  }

  Tensor piece_row;            // i32 [pieces]
  Tensor piece_begin;          // i64 [pieces]  first nonzero
  Tensor piece_length;         // i32 [pieces]
  Tensor piece_split;          // i32 [pieces]  which split row it belongs to, or -1
  Tensor residual_row;         // i32 [residual rows]
  Tensor residual_begin;       // i64 [residual rows]
  Tensor residual_length;      // i32 [residual rows]
  Tensor split_slot;           // i64 [split rows + 1]  the workspace slot of the first of its pieces
  std::int64_t num_slots = 0;  // pieces of all split rows
  std::int64_t split = kSplit, block = kBlock;
  // Residual rows of more than 16 and 8 nonzeros, which come first; 0 in a plan with clusters.
  std::int64_t residual_over_16 = 0, residual_over_8 = 0;
  // On graphs large enough for clusters: consecutive rows have columns in common (RowLocality::is_local).
  bool local_rows = false;
  bool is_clustered = false;  // rows of a cluster follow each other

  std::int64_t num_pieces() const { return piece_row.numel(); }
  std::int64_t num_residual() const { return residual_row.numel(); }
  std::int64_t num_split_rows() const { return split_slot.numel() - 1; }
};

/// "120 pieces, 3 split rows, 2588 residual rows"
std::ostream& operator<<(std::ostream& out, const RodePlan& plan);

}  // namespace rodeo
