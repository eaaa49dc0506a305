/// Where TCA-SpMM puts nonzeros and columns in the fragments of mma.m16n8k8: index functions that the kernel
/// and its test share. docs/kernels.md has the picture.
#pragma once

namespace rodeo::tca {

constexpr int kPieces = 4;  // 16-byte pieces of a row of X that a lane ends up with

/// A row of up to 8 * kSubRows nonzeros is cut into kSubRows sub-rows of 8. Sub-row s is column s of the
/// right operand B (repeated to fill its 8 columns), so that B[k][n] = w[8 (n % kSubRows) + k]. The 16 rows
/// of the left operand A are the sub-rows of 16 / kSubRows output columns. Element (i, i) of each 8 x 8 block
/// of A B is a sub-row's dot product; kSubRows of them make an output.
///
/// The four lanes of quad g hold row g of A's upper block, row g of its lower block and column g of B, so a
/// quad works on one sub-row; the 8 / kSubRows quads that share it ("groups") take different columns. Lane t
/// of a quad holds nonzeros 2t and 2t + 1 of the sub-row. It needs every column of these two, but only its
/// quad, or half of it, can read whole sectors: kExchange lanes read each other's rows side by side and then
/// swap.
template <int kSubRows_>
struct Packing {
  static constexpr int kSubRows = kSubRows_;
  static constexpr int kGroups = 8 / kSubRows;
  static constexpr int kNonzeros = 8 * kSubRows;
  static constexpr int kExchange = kSubRows == 8 ? 4 : kSubRows == 4 ? 2 : 1;
  static constexpr int kMask = kExchange - 1;
  static constexpr int kPiecesOfTile = kPieces * kGroups;

  static constexpr int group(int lane) { return lane / 4 / kSubRows; }
  /// The lane's nonzero, half 0 or 1, within the row's chunk.
  static constexpr int nonzero(int lane, int half) {
    return 8 * (lane / 4 % kSubRows) + 2 * (lane % 4) + half;
  }
  /// Piece `slot` of a lane after the exchange, as a piece of the tile.
  static constexpr int piece(int lane, int slot) { return slot * kGroups + group(lane); }
  /// What a lane loads into `slot`: a piece of the row that this lane needs ...
  static constexpr int needed_by(int lane, int slot) { return (lane & ~kMask) | (slot & kMask); }
  /// ... namely the piece that will be that lane's slot:
  static constexpr int destined_for(int lane, int slot) { return (slot & ~kMask) | ((lane ^ slot) & kMask); }

  /// The exchange, first among the slots of one lane, then, slot by slot, with lane ^ (slot & kMask).
  template <class Word>
  static constexpr void rotate(Word (&slot)[kPieces], int lane) {
    if constexpr (kExchange >= 2) {
      swap_if(lane & 1, slot[0], slot[1]);
      swap_if(lane & 1, slot[2], slot[3]);
    }
    if constexpr (kExchange >= 4) {
      swap_if(lane & 2, slot[0], slot[2]);
      swap_if(lane & 2, slot[1], slot[3]);
    }
  }

  /// Outputs of the tile come in order of their columns; `width` elements make a piece. Output `column` is
  /// the sum over s < kSubRows of entry value_of(column) of quad first_quad(column) + s.
  static constexpr int first_quad(int column, int width) { return column / width % kGroups * kSubRows; }
  static constexpr int value_of(int column, int width) {
    return column / width / kGroups * width + column % width;
  }

 private:
  template <class Word>
  static constexpr void swap_if(bool condition, Word& a, Word& b) {
    const Word x = a, y = b;
    a = condition ? y : x;
    b = condition ? x : y;
  }
};

/// The lane of quad g that holds diagonal element (g, g) of an accumulator block, and in which of its two
/// elements.
constexpr int diagonal_lane(int quad) {
  return quad * 4 + quad / 2;
}
constexpr int diagonal_element(int quad) {
  return quad % 2;
}

}  // namespace rodeo::tca
