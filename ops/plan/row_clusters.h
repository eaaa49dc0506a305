/// Which rows of a graph have neighbours in common.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace rodeo {

/// Rows that share neighbours, run one after another, find each other's rows of X in the caches. This finds
/// groups of them in a few passes over a sample of the edges:
///   1. every node starts with a random number and takes the mean of its neighbours' several times: what
///      remains is nearly constant within a community (power iteration, as in Lin & Cohen, ICML 2010);
///   2. nodes are sorted by that number and cut into kClusters equal parts;
///   3. every node takes the commonest part among its neighbours several times (label propagation, Raghavan
///      et al., Physical Review E 76, 2007).
/// Integer arithmetic throughout: the same clusters on every device. They change the order in which rows are
/// worked on, never a result.
struct RowClusters {
  static constexpr int kClusters = 256;
  static constexpr int kSamples = 32;  // neighbours that a row asks
  static constexpr int kMeans = 8;
  static constexpr int kVotes = 6;

  /// Worth it where X is larger than an L2, or where rows are so long and many that they share an L1. On
  /// smaller graphs it is better to run long rows first.
  static constexpr bool should_use(std::int64_t rows, std::int64_t cols, std::int64_t edges) {
    constexpr std::int64_t kWideCols = 1 << 19, kManyEdges = 1 << 24;
    return rows == cols && edges >= 4 * rows && (cols >= kWideCols || edges >= kManyEdges);
  }

  RODEO_HOST_DEVICE static std::int64_t samples(std::int64_t length) {
    return length < kSamples ? length : kSamples;
  }
  /// The i-th asked neighbour of a row, evenly spread.
  RODEO_HOST_DEVICE static std::int64_t sample(std::int64_t begin, std::int64_t length, std::int64_t i) {
    return begin + (length <= kSamples ? i : i * length / kSamples);
  }
  RODEO_HOST_DEVICE static std::int32_t start(std::int64_t node) {
    return static_cast<std::int32_t>(random_word(0x636c7573, 0, static_cast<std::uint64_t>(node)));
  }
};

}  // namespace rodeo
