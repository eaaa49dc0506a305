/// Contiguous ranges of a graph's rows, one for each rank, of about equal cost.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rodeo {

/// What a row costs in any unit of time: `row`, and `edge` for each of its edges.
struct RowCost {
  double row = 1;
  double edge = 1;
};

/// Rank r has the rows [begins[r], begins[r + 1]).
struct RowRanges {
  std::vector<std::int64_t> begins{0, 0};

  int num_ranks() const { return static_cast<int>(begins.size()) - 1; }
  std::int64_t begin(int rank) const { return begins[static_cast<std::size_t>(rank)]; }
  std::int64_t end(int rank) const { return begins[static_cast<std::size_t>(rank) + 1]; }
  std::int64_t num_rows(int rank) const { return end(rank) - begin(rank); }
  /// Rows of each rank, as Communicator::all_gather takes them.
  std::vector<std::int64_t> row_counts() const;
  /// The rank that has `row`. Throws Error if `row` is not in [0, number of rows).
  int owner(std::int64_t row) const;
};

/// Cuts the rows of a CSR where their cost is nearest to r / num_ranks of the total. No range costs more than
/// its equal share and the most expensive row; a range may be empty. If nothing costs anything, rows are
/// counted. Each cut is then moved to the nearest multiple of `alignment`, or to the end. A function of its
/// arguments alone, so that all ranks get the same ranges. O(rows).
///
/// `row_pointers` are the n + 1 row pointers of the CSR: they begin with 0 and do not decrease. Throws Error
/// if they do, if num_ranks or alignment is not positive, or if a cost is negative or not finite.
RowRanges cut_rows(std::span<const std::int64_t> row_pointers, int num_ranks, const RowCost& cost = {},
                   std::int64_t alignment = 1);

}  // namespace rodeo
