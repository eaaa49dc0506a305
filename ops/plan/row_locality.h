/// How many rows of X consecutive rows of a graph have in common.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace rodeo {

/// Consecutive rows of a mesh read nearly the same rows of X, so that a multiprocessor finds them in its L1.
/// Rows of a graph in random order have few columns in common. This is measured on a sample: kWindows windows
/// of `rows` consecutive rows, evenly spread, and at most `samples` columns of each row. All arithmetic is on
/// integers: every device gets the same numbers.
struct RowLocality {
  static constexpr int kWindows = 256;
  static constexpr int kSlotBits = 18;  // columns of a window are counted by a bitmap of hashed columns
  static constexpr int kMaxSamples = 1 << 14;  // of a window; more would collide in the bitmap

  struct Window {
    int rows, samples;
  };
  static constexpr Window kNeighbours{32, 32};  // the rows of one thread block
  static constexpr Window kOrder{4096, 4};      // to compare orders of rows
  static_assert(kOrder.rows * kOrder.samples <= kMaxSamples);

  std::int64_t sampled = 0;   // columns of all windows
  std::int64_t distinct = 0;  // summed over the windows

  /// The fraction of columns that another row of the window has, too: 0.64 on a 27-point grid, 0 without any.
  constexpr double reused_fraction() const {
    return sampled == 0 ? 0 : 1 - static_cast<double>(distinct) / static_cast<double>(sampled);
  }
  /// Whether another row of the window has a fifth of the columns: those of a 7-point grid have more in
  /// common, those of a random graph nearly none.
  constexpr bool is_local() const { return 5 * distinct < 4 * sampled; }

  /// The first row of a window.
  RODEO_HOST_DEVICE static std::int64_t first_row(int window, std::int64_t rows, int window_rows) {
    return rows <= window_rows ? 0 : (rows - window_rows) * window / (kWindows - 1);
  }
  /// Sample i of a row, as a distance from its first nonzero; samples are evenly spread.
  RODEO_HOST_DEVICE static std::int64_t sample(std::int64_t length, int samples, int i) {
    return length <= samples ? i : i * length / samples;
  }
  RODEO_HOST_DEVICE static std::uint32_t slot(std::int32_t col) {
    return (static_cast<std::uint32_t>(col) * 2654435769U) >> (32 - kSlotBits);
  }
};

}  // namespace rodeo
