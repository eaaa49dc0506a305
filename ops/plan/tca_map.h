/// The index maps of TCA-SpMM: where nonzeros and columns of X are in the compressed-RHS buffer, and which
/// columns a warp computes. The kernel and its test use the same functions.
#pragma once

#include "core/random.h"

namespace rodeo::tca {

/// A row has kBlocks warps of a block (1, 2, 4 or 8). Each of them, its members, gathers 8 nonzeros of a
/// chunk of 8 kBlocks nonzeros. Elements have kElementBytes bytes, 2 or 4; a tile is 128 bytes of each row of
/// X.
///
/// Lane 8 m + k of a warp loads 16 bytes, at 16 k, of its nonzeros m (part 0) and m + 4 (part 1).
///
/// A unit is 16 bytes in the buffer: the elements of one column of X at the four nonzeros of a part, of one
/// member. 2-byte elements leave room for a second column, half a tile further: nonzero 0 of column c, of
/// column c + kHalf, nonzero 1 of column c, ... The units of a column follow each other, so 8 / kBlocks
/// columns share the 8 rows of a left operand. The right operand has the nonzeros of member m in its columns
/// m, m + kBlocks,
/// ... Units are swizzled: neither stores nor loads have bank conflicts.
template <int kElementBytes, int kBlocks>
struct Map {
  static_assert(kElementBytes == 2 || kElementBytes == 4);
  static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4 || kBlocks == 8);
  static constexpr int kVec = 16 / kElementBytes;                  // elements of a lane's load
  static constexpr int kColumns = 8 * kVec, kHalf = kColumns / 2;  // of a tile
  static constexpr int kBytes = kBlocks * 1024;                    // of a chunk in the buffer
  static constexpr int kLefts = 4;                                 // left operands of 8 units, of a warp
  static constexpr int kMmas = kColumns / 16;                      // of a warp, for a chunk and a tile

  /// Byte offset of a unit. For 2-byte elements c is a column of the lower half.
  RODEO_HOST_DEVICE static constexpr int offset(int c, int m, int part) {
    const int k = c / kVec;  // the lane of eight that loads column c
    if constexpr (kElementBytes == 2) {
      const int unit = c * kBlocks + m;
      const int swizzle = kBlocks == 8   ? k << 1 | (c & 1)
                          : kBlocks == 4 ? k
                          : kBlocks == 2 ? (k & 1) | (k >> 1) << 2
                                         : k << 1;
      return ((unit & ~7) | ((unit ^ swizzle) & 7)) * 16 + part * (kBytes / 2);
    } else {
      const int pair = c * kBlocks + m, unit = 2 * pair + (kBlocks > 1 ? part ^ (pair >> 2 & 1) : part);
      return ((unit & ~7) | ((unit ^ k) & 7)) * 16;
    }
  }

  /// 2-byte elements: the column of the lower half whose unit lane `lane` addresses in a transposing store of
  /// 8 x 8 matrices. Matrix r has word r of the lanes' loads.
  RODEO_HOST_DEVICE static constexpr int stored_column(int lane) {
    const int matrix = lane / 8, line = lane % 8;
    return line / 2 * kVec + 2 * matrix + line % 2;
  }
  /// Column that row g of left operand q of member m has; of 2-byte elements the lower of its two columns.
  RODEO_HOST_DEVICE static constexpr int left_column(int m, int q, int g) {
    return ((kLefts * m + q) * 8 + g) / kBlocks;
  }
  /// The member whose nonzeros row g of a left operand has.
  RODEO_HOST_DEVICE static constexpr int left_member(int g) { return g % kBlocks; }

  /// Operands of the warp's products: `operand` / 2 is the product, rows 0 to 7 of it or rows 8 to 15.
  /// The column of row g.
  RODEO_HOST_DEVICE static constexpr int column(int m, int operand, int g) {
    if constexpr (kElementBytes == 2)
      return operand / 2 % 2 * kHalf + left_column(m, operand / 4 * 2 + operand % 2, g);
    else
      return left_column(m, operand, g);
  }
  /// The products come in two parts, which are left out where the tile ends before their first column: 2-byte
  /// elements: of the lower and upper half of the tile; else of two left operands each.
  RODEO_HOST_DEVICE static constexpr int first_column(int m, int part) { return column(m, 2 * part, 0); }
};

}  // namespace rodeo::tca
