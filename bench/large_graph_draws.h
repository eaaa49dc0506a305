/// The draws of large_graph.h, for loops of the host and for kernels.
#pragma once

#include "bench/large_graph.h"
#include "core/random.h"

namespace rodeo::bench {

constexpr std::uint64_t kLargeGraphSeed = 1, kPairStream = 0x70616972, kValueStream = 0x76616c75;

/// Node numbers of ranks: spreads consecutive ranks over the graph. The factor is a prime above all sizes.
RODEO_HOST_DEVICE std::int64_t node_of_rank(std::int64_t rank, std::int64_t nodes) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(rank) * 2654435761u %
                                   static_cast<std::uint64_t>(nodes));
}

/// A rank with weight rank^-0.5: the inverse of its distribution function is a square.
RODEO_HOST_DEVICE std::int64_t draw_rank(std::uint32_t word, std::int64_t nodes) {
  const double u = (word + 0.5) * 0x1p-32;
  return static_cast<std::int64_t>(u * u * static_cast<double>(nodes));
}

struct DrawnPair {
  std::int32_t low, high;
};
RODEO_HOST_DEVICE DrawnPair draw_pair(std::int64_t i, std::int64_t nodes) {
  const Philox4 random = philox(kLargeGraphSeed, kPairStream, static_cast<std::uint64_t>(i));
  const std::int64_t u = node_of_rank(i < nodes ? i : draw_rank(random.word[0], nodes), nodes),
                     v = node_of_rank(draw_rank(random.word[1], nodes), nodes);
  return {static_cast<std::int32_t>(u < v ? u : v), static_cast<std::int32_t>(u < v ? v : u)};
}

/// Calls edge(row, col) for the edges of some rows that item i of [0, pairs + count) gives: a pair, and with
/// self loops a row, which is numbered from the first one.
template <class Edge>
RODEO_HOST_DEVICE void for_edges_of(const RowDraw& rows, std::int64_t i, const Edge& edge) {
  if (i >= rows.pairs) {
    const std::int64_t row = i - rows.pairs;
    if (rows.self_loops) edge(static_cast<std::int32_t>(row), static_cast<std::int32_t>(rows.first + row));
    return;
  }
  const DrawnPair pair = draw_pair(i, rows.nodes);
  if (pair.low == pair.high) return;
  const std::int64_t low = pair.low - rows.first, high = pair.high - rows.first;
  if (low >= 0 && low < rows.count) edge(static_cast<std::int32_t>(low), pair.high);
  if (high >= 0 && high < rows.count) edge(static_cast<std::int32_t>(high), pair.low);
}

RODEO_HOST_DEVICE float draw_value(std::int64_t i) {
  return uniform_between(-1, 1, random_word(kLargeGraphSeed, kValueStream, static_cast<std::uint64_t>(i)));
}

}  // namespace rodeo::bench
