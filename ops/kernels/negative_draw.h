/// The draw of one pair without an edge, the same on the CPU and on CUDA.
#pragma once

#include <cstdint>

#include "core/random.h"
#include "ops/negative_edges_types.h"

namespace rodeo::kernels {

constexpr int kNegativeDraws = 64;  // of one pair, before the next free pair is searched

struct NegativePair {
  std::int64_t row, col;
};

/// The integer part of n times the fraction that two words are: in [0, n).   n at most 2^31
RODEO_HOST_DEVICE std::int64_t below(std::int64_t n, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t m = static_cast<std::uint64_t>(n);
  return static_cast<std::int64_t>((high * m + ((low * m) >> 32)) >> 32);
}

/// Whether the sorted row has that column.
RODEO_HOST_DEVICE bool has_edge(const std::int64_t* row_ptr, const std::int32_t* col, NegativePair pair) {
  std::int64_t begin = row_ptr[pair.row], end = row_ptr[pair.row + 1];
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (col[middle] == pair.col) return true;
    if (col[middle] < pair.col)
      begin = middle + 1;
    else
      end = middle;
  }
  return false;
}

/// Pair `i` of a graph that has a pair without an edge in the range.
RODEO_HOST_DEVICE NegativePair draw_negative(const std::int64_t* row_ptr, const std::int32_t* col,
                                             const PairRange& among, std::uint64_t seed, std::uint64_t stream,
                                             std::int64_t i) {
  NegativePair pair{0, 0};
  const auto taken = [&] { return pair.row == pair.col || has_edge(row_ptr, col, pair); };
  for (int draw = 0; draw < kNegativeDraws; ++draw) {
    const Philox4 random = philox(seed, stream, static_cast<std::uint64_t>(i) * kNegativeDraws + draw);
    pair = {among.first_dst + below(among.num_dst, random.word[0], random.word[1]),
            among.first_src + below(among.num_src, random.word[2], random.word[3])};
    if (!taken()) return pair;
  }
  do {
    if (++pair.col < among.first_src + among.num_src) continue;
    pair = {pair.row + 1 < among.first_dst + among.num_dst ? pair.row + 1 : among.first_dst, among.first_src};
  } while (taken());
  return pair;
}

}  // namespace rodeo::kernels
