/// Tiles of equal work for SpMV: a pure function from row pointers, as merge-path SpMV (Merrill & Garland, SC
/// 2016) divides a matrix.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo {

/// The nonzeros and the ends of rows are one list of items: each row's nonzeros, then its end. Nonzero p of
/// row r is item p + r. Tile i takes the items from i * stride on, so that many empty rows are work, too.
///
/// Rows of up to long_row nonzeros are not cut: the tile where a row begins takes all of it, and so has up to
/// max_items items. Parts of longer rows are summed in different tiles and added at the end.
struct SpmvTileSize {
  static constexpr int kFew = 256, kMany = 512;

  /// Threads of a block: kMany where there are rows to cut, of which large tiles make fewer parts. Blocks of
  /// kFew threads overlap better.
  static constexpr int threads_for(std::int64_t longest_row) { return longest_row > kFew ? kMany : kFew; }

  int threads = kFew;

  constexpr std::int64_t long_row() const { return threads; }
  constexpr std::int64_t max_items() const { return 8 * threads - 16; }
  constexpr std::int64_t stride() const { return max_items() - long_row(); }
  constexpr std::int64_t count(std::int64_t rows, std::int64_t edges) const {
    return (rows + edges + stride() - 1) / stride();
  }
  /// The tile of nonzero `at` of `row`.
  constexpr std::int64_t tile_of(std::int64_t at, std::int64_t row) const { return (at + row) / stride(); }
};

struct SpmvTiles {
  struct Cut {
    std::int64_t begin;  // the first nonzero of the tile
    std::int64_t row;    // the first row that begins in the tile or after it
  };

  /// Where tile i begins; for i = count() where the last one ends.
  RODEO_HOST_DEVICE static Cut cut(const std::int64_t* row_ptr, std::int64_t rows, SpmvTileSize size,
                                   std::int64_t i) {
    const std::int64_t item = i * size.stride();
    std::int64_t low = 0, high = rows;  // the first row that begins at or after the item
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (row_ptr[middle] + middle < item)
        low = middle + 1;
      else
        high = middle;
    }
    const std::int64_t next = row_ptr[low];
    if (low == 0 || next - row_ptr[low - 1] <= size.long_row()) return {next, low};
    const std::int64_t inside = item - (low - 1);  // a nonzero of the row before, or past its last one
    return {inside < next ? inside : next, low};
  }

  SpmvTileSize size;
  Tensor begin;  // i64 [tiles + 1]
  Tensor row;    // i64 [tiles + 1]

  std::int64_t num_tiles() const { return begin.numel() - 1; }
};

}  // namespace rodeo
