/// Which rows of a file are read at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rodeo {

/// One row to read, and where it goes.
struct PlacedRow {
  std::int64_t row = 0, place = 0;
};

/// Rows [first, first + rows) of a file, for entries [begin, end) of the sorted list of rows to read.
struct RowRange {
  std::int64_t first = 0, rows = 0;
  std::size_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

/// Bytes between two rows that are read with them: one page, which the kernel reads as a whole anyway.
constexpr std::int64_t kGapBytes = 4096;
/// Bytes of a range, at most, unless a single row has more.
constexpr std::int64_t kRangeBytes = std::int64_t{1} << 20;

/// `sorted` by row; rows may be repeated.
inline std::vector<RowRange> merge_rows(const std::vector<PlacedRow>& sorted, std::int64_t row_bytes) {
  std::vector<RowRange> out;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::int64_t row = sorted[i].row;
    if (!out.empty()) {
      RowRange& last = out.back();
      const std::int64_t rows = std::max(last.rows, row + 1 - last.first), gap = row - last.first - last.rows;
      if (gap * row_bytes <= kGapBytes && (rows == last.rows || rows * row_bytes <= kRangeBytes)) {
        last.rows = rows, last.end = i + 1;
        continue;
      }
    }
    out.push_back({row, 1, i, i + 1});
  }
  return out;
}

}  // namespace rodeo
