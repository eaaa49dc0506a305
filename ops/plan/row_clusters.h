/// Clusters of rows with common neighbours.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "ops/plan/row_locality.h"

namespace rodeo {

/// Consecutive rows with common neighbours find each other's rows of X in the caches. Clusters of such rows
/// are found in a few passes over a sample of the edges:
///   1. every node starts with a random number and repeatedly takes the mean of its neighbours' numbers:
///   within
///      a community they become nearly equal (power iteration, as in Lin & Cohen, ICML 2010);
///   2. nodes are sorted by that number and cut into kClusters parts of equal size;
///   3. every node repeatedly takes the most frequent part among its neighbours (label propagation, Raghavan
///   et
///      al., Physical Review E 76, 2007).
/// All arithmetic is on integers: every device gives the same clusters. They change the order of work, never
/// a result.
struct RowClusters {
  static constexpr int kClusters = 256;
  static constexpr int kSamples = 32;  // neighbours of a row that a pass reads
  static constexpr int kMeans = 8;
  static constexpr int kVotes = 6;

  /// Whether clusters are worth finding: where X exceeds the L2 of any GPU, or rows are so long and many that
  /// they share an L1. On smaller graphs it is faster to start with the longest rows. The bounds are numbers
  /// of columns and edges, not properties of a device: a plan is the same on all devices.
  static constexpr bool should_use(std::int64_t rows, std::int64_t cols, std::int64_t edges) {
    constexpr std::int64_t kWideCols = 1 << 19, kManyEdges = 1 << 24;
    return rows == cols && edges >= 4 * rows && (cols >= kWideCols || edges >= kManyEdges);
  }

  /// Whether clusters are also tried on a smaller graph: rows are so long that those of a block share an L1.
  static constexpr bool has_long_rows(std::int64_t rows, std::int64_t cols, std::int64_t edges) {
    constexpr std::int64_t kLong = 64, kEdges = 1 << 20;
    return rows == cols && edges >= kLong * rows && edges >= kEdges;
  }

  /// Whether rows ordered by cluster have so many more columns in common than in the order of the file that
  /// this pays for running long rows late: a fifth fewer distinct columns, or twice as many common ones. They
  /// do not in graphs without communities. Where the order of the file is local (RowLocality::is_local) it is
  /// kept: clusters cut the lines of a mesh, which share an L1.
  static constexpr bool improves(const RowLocality& file, const RowLocality& clustered) {
    const auto at_most = [&](std::int64_t percent) {  // of the distinct columns
      return 100 * clustered.distinct * file.sampled <= percent * file.distinct * clustered.sampled;
    };
    const bool doubles_common = (clustered.sampled - clustered.distinct) * file.sampled >=
                                2 * (file.sampled - file.distinct) * clustered.sampled;
    return at_most(80) || (doubles_common && at_most(95));
  }

  RODEO_HOST_DEVICE static std::int64_t samples(std::int64_t length) {
    return length < kSamples ? length : kSamples;
  }
  /// The position of sample i of a row; samples are evenly spread.
  RODEO_HOST_DEVICE static std::int64_t sample(std::int64_t begin, std::int64_t length, std::int64_t i) {
    return begin + (length <= kSamples ? i : i * length / kSamples);
  }
  RODEO_HOST_DEVICE static std::int32_t start(std::int64_t node) {
    return static_cast<std::int32_t>(random_word(0x636c7573, 0, static_cast<std::uint64_t>(node)));
  }
};

}  // namespace rodeo
