// Twins have the statistics of the matrices that they stand for.
#include "bench/twins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/experiments/experiment.h"
#include "tests/support/devices.h"

namespace rodeo::bench {
namespace {

TEST(BenchTwins, RowLengthsHaveTheSumDeviationAndMaximum) {
  for (const Twin& twin : all_twins()) {
    const std::vector<std::int64_t> lengths = twin_lengths(twin);
    ASSERT_EQ(static_cast<std::int64_t>(lengths.size()), twin.rows) << twin.name;
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), twin.nonzeros) << twin.name;
    EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), twin.longest) << twin.name;
    const double mean = static_cast<double>(twin.nonzeros) / static_cast<double>(twin.rows);
    double squares = 0;
    for (const std::int64_t length : lengths)
      squares += (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(twin.rows)), twin.deviation,
                0.02 * twin.deviation + 0.02)
        << twin.name;
  }
}

TEST(BenchTwins, APartKeepsTheDistributionAsFarAsItFits) {
  const Twin whole = find_twin("Si41Ge41H72"), part = shrink(whole, 64);
  EXPECT_EQ(part.rows, whole.rows / 64);
  EXPECT_EQ(part.longest, whole.longest);
  EXPECT_EQ(shrink(find_twin("mip1"), 64).longest, 66463 / 64);
  EXPECT_EQ(shrink(find_twin("ash219"), 64).rows, 219) << "too small to be shrunk";
  EXPECT_ERROR(find_twin("none"), "--twin must be of " + twin_names() + ", all, got 'none'");
}

TEST(BenchTwins, ColumnsAreDistinctAscendingAndBandedWhereAsked) {
  const std::vector<std::int64_t> lengths{0, 3, 50, 1, 7, 49};
  for (const bool banded : {false, true}) {
    const Adjacency adj = random_matrix(lengths, 50, banded);
    const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    const auto col = adj.csr().col.to_vector<std::int32_t>();
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      ASSERT_EQ(row_ptr[i + 1] - row_ptr[i], lengths[i]);
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        EXPECT_GE(col[e], 0);
        EXPECT_LT(col[e], 50);
        EXPECT_LT(e > row_ptr[i] ? col[e - 1] : -1, col[e]);
        const std::int64_t diagonal = static_cast<std::int64_t>(i) * 50 / 6;
        EXPECT_LE(std::abs(col[e] - diagonal), banded ? 2 * lengths[i] + 1 : 50);
      }
    }
  }
  EXPECT_ERROR(random_matrix({3, 51}, 50, false), "[random_matrix] row 1 has 51 nonzeros in 50 columns");
}

TEST(BenchExperiments, StatisticsAreThoseOfTheRows) {
  const RowStatistics rows = row_statistics(random_matrix({0, 4, 8, 4}, 10, false));
  EXPECT_EQ(rows.mean, 4);
  EXPECT_DOUBLE_EQ(rows.deviation, std::sqrt(8.0));
  EXPECT_EQ(rows.longest, 8);
  EXPECT_DOUBLE_EQ(rows.variation(), std::sqrt(8.0) / 4);
}

}  // namespace
}  // namespace rodeo::bench
