#include "ops/row_ranges.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace rodeo {

std::vector<std::int64_t> RowRanges::row_counts() const {
  std::vector<std::int64_t> counts;
  for (int r = 0; r < num_ranks(); ++r) counts.push_back(num_rows(r));
  return counts;
}

int RowRanges::owner(std::int64_t row) const {
  check(row >= 0 && row < begins.back(), "[row_ranges] row must be in [0, ", begins.back(), "), got ", row);
  return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), row) - begins.begin()) - 1;
}

RowRanges cut_rows(std::span<const std::int64_t> row_pointers, int num_ranks, const RowCost& cost,
                   std::int64_t alignment) {
  check(!row_pointers.empty() && row_pointers[0] == 0 &&
            std::is_sorted(row_pointers.begin(), row_pointers.end()),
        "[cut_rows] row_pointers must begin with 0 and not decrease");
  check(num_ranks >= 1, "[cut_rows] num_ranks must be positive, got ", num_ranks);
  check(alignment >= 1, "[cut_rows] alignment must be positive, got ", alignment);
  for (const double each : {cost.row, cost.edge})
    check(std::isfinite(each) && each >= 0, "[cut_rows] costs must be finite and not negative, got ", each);

  const auto n = static_cast<std::int64_t>(row_pointers.size()) - 1;
  const bool free = cost.row == 0 && (cost.edge == 0 || row_pointers.back() == 0);
  const RowCost used = free ? RowCost{1, 0} : cost;
  // The cost of all rows before row i.
  const auto cost_before = [&](std::int64_t i) {
    return used.row * static_cast<double>(i) +
           used.edge * static_cast<double>(row_pointers[static_cast<std::size_t>(i)]);
  };
  RowRanges ranges{{0}};
  for (int r = 1; r < num_ranks; ++r) {
    const double share = cost_before(n) * r / num_ranks;
    std::int64_t low = 0, high = n;  // the first row at which the cost reaches the share
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (cost_before(middle) < share)
        low = middle + 1;
      else
        high = middle;
    }
    if (low > 0 && share - cost_before(low - 1) <= cost_before(low) - share) --low;
    low = std::min(n, (low + alignment / 2) / alignment * alignment);
    ranges.begins.push_back(std::max(low, ranges.begins.back()));
  }
  ranges.begins.push_back(n);
  return ranges;
}

}  // namespace rodeo
