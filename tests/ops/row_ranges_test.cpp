#include "ops/row_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

using Begins = std::vector<std::int64_t>;

Begins pointers_of(const Begins& lengths) {
  Begins pointers{0};
  for (const std::int64_t length : lengths) pointers.push_back(pointers.back() + length);
  return pointers;
}

Begins begins(const Begins& lengths, int num_ranks, const RowCost& cost = {}) {
  return cut_rows(pointers_of(lengths), num_ranks, cost).begins;
}

TEST(OpsRowRanges, AreOfEqualCost) {
  EXPECT_EQ(begins(Begins(8, 3), 4), (Begins{0, 2, 4, 6, 8}));
  EXPECT_EQ(begins({9, 1, 1, 1}, 2), (Begins{0, 1, 4}));
  EXPECT_EQ(begins({9, 1, 1, 1}, 2, {1, 0}), (Begins{0, 2, 4})) << "rows alone";
  EXPECT_EQ(begins({3, 1, 1, 1, 3, 3}, 2, {0, 1}), (Begins{0, 4, 6})) << "edges alone";
  EXPECT_EQ(begins({5, 5, 5}, 1), (Begins{0, 3}));
}

TEST(OpsRowRanges, MayBeEmpty) {
  EXPECT_EQ(begins({}, 3), (Begins{0, 0, 0, 0}));
  EXPECT_EQ(begins({4, 4}, 4), (Begins{0, 0, 1, 1, 2})) << "fewer rows than ranks";
  EXPECT_EQ(begins({0, 0, 0, 1000, 0, 0}, 4), (Begins{0, 3, 3, 4, 6})) << "one row has nearly all edges";
  EXPECT_EQ(begins({0, 0, 0, 0}, 2, {0, 1}), (Begins{0, 2, 4})) << "no edges, and rows cost nothing";
  EXPECT_EQ(begins({0, 0, 0, 0}, 2, {0.25, 7}), (Begins{0, 2, 4})) << "no edges";
}

TEST(OpsRowRanges, BeginAtMultiples) {
  const auto aligned = [](const Begins& lengths, int num_ranks, std::int64_t alignment) {
    return cut_rows(pointers_of(lengths), num_ranks, {1, 0}, alignment).begins;
  };
  EXPECT_EQ(aligned(Begins(22, 1), 2, 1), (Begins{0, 11, 22}));
  EXPECT_EQ(aligned(Begins(22, 1), 2, 4), (Begins{0, 12, 22}));
  EXPECT_EQ(aligned(Begins(20, 1), 2, 4), (Begins{0, 12, 20})) << "10 is as near to 8";
  EXPECT_EQ(aligned(Begins(18, 1), 2, 4), (Begins{0, 8, 18}));
  EXPECT_EQ(aligned(Begins(18, 1), 2, 3), (Begins{0, 9, 18}));
  EXPECT_EQ(aligned(Begins(3, 1), 3, 4), (Begins{0, 0, 3, 3})) << "cuts at 1 and 2, and 4 is past the end";
  EXPECT_EQ(aligned({}, 2, 4), (Begins{0, 0, 0}));
}

// For many graphs: the ranges cover the rows, and none costs more than a share and the most expensive row.
TEST(OpsRowRanges, KeepTheirBound) {
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  for (int graph = 0; graph < 300; ++graph) {
    Begins lengths(static_cast<std::size_t>(random(60)));
    for (std::int64_t& length : lengths) length = random(4) == 0 ? random(400) : random(5);
    const Begins pointers = pointers_of(lengths);
    const RowCost cost{static_cast<double>(random(3)), static_cast<double>(random(3) + 1)};
    const int num_ranks = static_cast<int>(random(9)) + 1;
    const RowRanges ranges = cut_rows(pointers, num_ranks, cost);
    ASSERT_EQ(ranges.num_ranks(), num_ranks);
    EXPECT_EQ(ranges.begin(0), 0);
    EXPECT_EQ(ranges.end(num_ranks - 1), static_cast<std::int64_t>(lengths.size()));
    const auto cost_of = [&](std::int64_t first, std::int64_t last) {
      return cost.row * static_cast<double>(last - first) +
             cost.edge * static_cast<double>(pointers[static_cast<std::size_t>(last)] -
                                             pointers[static_cast<std::size_t>(first)]);
    };
    double most = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(lengths.size()); ++i)
      most = std::max(most, cost_of(i, i + 1));
    const double share = cost_of(0, static_cast<std::int64_t>(lengths.size())) / num_ranks;
    for (int r = 0; r < num_ranks; ++r) {
      ASSERT_LE(ranges.begin(r), ranges.end(r));
      EXPECT_LE(cost_of(ranges.begin(r), ranges.end(r)), (share + most) * (1 + 1e-12)) << graph;
      for (std::int64_t row = ranges.begin(r); row < ranges.end(r); ++row) EXPECT_EQ(ranges.owner(row), r);
    }
    const Begins counts = ranges.row_counts();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
              static_cast<std::int64_t>(lengths.size()));
  }
}

// Sums of 3e9 edges are exact.
TEST(OpsRowRanges, CountLargeGraphs) {
  constexpr std::int64_t kHuge = 3000000000;
  EXPECT_EQ(cut_rows(Begins{0, kHuge, 2 * kHuge, 3 * kHuge, 4 * kHuge}, 2).begins, (Begins{0, 2, 4}));
}

TEST(OpsRowRanges, SayWhatIsWrong) {
  EXPECT_ERROR(cut_rows({}, 2), "[cut_rows] row_pointers must begin with 0 and not decrease");
  EXPECT_ERROR(cut_rows(Begins{0, 3, 2}, 2), "[cut_rows] row_pointers must begin with 0 and not decrease");
  EXPECT_ERROR(cut_rows(Begins{1, 3}, 2), "[cut_rows] row_pointers must begin with 0 and not decrease");
  EXPECT_ERROR(cut_rows(Begins{0, 3}, 0), "[cut_rows] num_ranks must be positive, got 0");
  EXPECT_ERROR(cut_rows(Begins{0, 3}, 2, {}, 0), "[cut_rows] alignment must be positive, got 0");
  EXPECT_ERROR(cut_rows(Begins{0, 3}, 2, {-1, 1}),
               "[cut_rows] costs must be finite and not negative, got -1");
  EXPECT_ERROR(cut_rows(Begins{0, 3}, 2, {1, std::numeric_limits<double>::infinity()}),
               "[cut_rows] costs must be finite and not negative, got inf");
  EXPECT_ERROR(cut_rows(Begins{0, 3}, 2).owner(1), "[row_ranges] row must be in [0, 1), got 1");
}

}  // namespace
}  // namespace rodeo::test
