/// The dense blocks of a sparse matrix, for products on tensor cores, as a pure function of its pattern.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "core/adjacency.h"
#include "core/random.h"

namespace rodeo {

/// Rows in groups of kRows, in a given order. A column that at least kMinCount rows of a group have is dense
/// there. The dense columns of a group, sorted, are condensed: they are the columns of a dense matrix
/// [kRows, dense columns], cut into steps of kDepth columns. One row of X, loaded once, serves all rows of
/// the group. All other edges, and repeated ones, are the rest, which is gathered.
struct DenseBlocks {
  static constexpr int kRows = 128;
  static constexpr int kDepth = 32;    // condensed columns of a step: two mma.m16n8k16
  static constexpr int kSegment = 16;  // rows whose rest is gathered together
  static constexpr int kSegments = kRows / kSegment, kWarps = kRows / 32;
  static constexpr int kStepElements = kRows * kDepth, kStepWords = kStepElements / 32;

  // The cost model, in rows of X that RoDe gathers at the same time. A dense column costs a load of its row
  // of X and the products of kRows rows with it. These are estimates.
  static constexpr int kMinCount = 3;
  static constexpr std::int64_t kColumnCost = 4, kRestCost = 2, kLongestRest = 4096;

  /// Whether the blocks are worth finding: rows are many and long.
  static constexpr bool should_try(std::int64_t rows, std::int64_t edges) {
    return rows >= 8 * std::int64_t{kRows} && edges >= 64 * rows && edges <= INT32_MAX;
  }

  /// Where element (row, k) of a step is: row < kRows, k < kDepth. Elements are in the order of
  /// mma.m16n8k16's left operands: [warp][k / 16][row / 16 % 2][lane][8].
  struct Place {
    int warp, fragment, lane, element;
    RODEO_HOST_DEVICE constexpr int index() const {
      return ((warp * 4 + fragment) * 32 + lane) * 8 + element;
    }
    /// The element's bit among the step's words [warp][lane].
    RODEO_HOST_DEVICE constexpr int word() const { return warp * 32 + lane; }
    RODEO_HOST_DEVICE constexpr int bit() const { return fragment * 8 + element; }
  };
  static constexpr Place place_of(int row, int k) {
    const int r = row % 16, c = k % 16;
    return {row / 32, k / 16 * 2 + row / 16 % 2, r % 8 * 4 + c % 8 / 2, 2 * (r / 8 + 2 * (c / 8)) + c % 2};
  }

  Tensor row;                     // i32 [groups * kRows]  rows in order; -1 after the last one
  Tensor step_begin;              // i32 [groups + 1]
  Tensor col;                     // i32 [steps * kDepth]  dense columns of each group; -1 after its last one
  Tensor bits;                    // i32 [steps * kStepWords]  the pattern
  Tensor place;                   // i32 [edges]  in the elements of all steps, or -1: rest
  Tensor rest_begin;              // i64 [groups * kSegments + 1]
  Tensor rest_col;                // i32 [rest]
  Tensor rest_edge;               // i32 [rest]
  Tensor rest_row;                // u8 [rest]  within its segment
  std::int64_t edges = 0;         // of the rows of the order
  std::int64_t longest_rest = 0;  // of a segment

  std::int64_t groups() const { return step_begin.numel() - 1; }
  std::int64_t steps() const { return col.numel() / kDepth; }
  std::int64_t rest() const { return rest_col.numel(); }
  /// The cost of the product in gathered rows of X; that of RoDe is `edges`.
  std::int64_t cost() const { return kColumnCost * kDepth * steps() + kRestCost * rest(); }
  /// Whether it promises at least twice RoDe's speed. One warp adds the rest of a segment, so it must be
  /// short.
  bool pays() const { return edges > 0 && 2 * cost() <= edges && longest_rest <= kLongestRest; }
  /// A copy on another device.
  DenseBlocks to(Device device) const;
};

/// "1024 groups of 128 rows, 16384 steps, 98.3 % of the edges in tiles"
std::ostream& operator<<(std::ostream& out, const DenseBlocks& blocks);

/// The dense blocks of `a`, on the CPU, whose rows are grouped in this order. At most 2^31 - 1 edges. The
/// order may leave rows out; `place` is then undefined at their edges. Throws Error where the tiles have more
/// elements than i32 counts.
DenseBlocks make_dense_blocks(const Csr& a, const std::vector<std::int32_t>& order);

/// An order in which rows with common columns follow each other: by cluster, u8 [rows] or undefined, then by
/// the smallest hash of a column of the row (MinHash; Broder, 1997).   a  on the CPU
std::vector<std::int32_t> min_hash_order(const Csr& a, const Tensor& cluster);

}  // namespace rodeo
