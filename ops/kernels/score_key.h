/// Scores as unsigned integers of the same order, for sorts and searches.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/random.h"

namespace rodeo::kernels {

constexpr std::uint64_t kNanKey = ~std::uint64_t{0};  // the key of every NaN, above all others

template <class T>
constexpr int kScoreBits = static_cast<int>(8 * sizeof(T));

/// Ascending with x: f32 in 32 bits, f64 in 64. -0 and 0 have one key. A NaN is the largest key of those
/// bits.
RODEO_HOST_DEVICE std::uint64_t score_key(float x) {
  if (x != x) return 0xffffffffu;
  x += 0.0f;
  std::uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
RODEO_HOST_DEVICE std::uint64_t score_key(double x) {
  if (x != x) return kNanKey;
  x += 0.0;
  std::uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
}
/// Whether score_key() of a T returns this key for NaN.
template <class T>
RODEO_HOST_DEVICE bool is_nan_key(std::uint64_t key) {
  return key == (kNanKey >> (64 - kScoreBits<T>));
}

/// The number of keys below `key`, or with `equal` those equal to it too.   keys [n], ascending
RODEO_HOST_DEVICE std::int64_t count_below(const std::uint64_t* keys, std::int64_t n, std::uint64_t key,
                                           bool equal) {
  std::int64_t begin = 0, end = n;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (keys[middle] < key || (equal && keys[middle] == key))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// What one positive adds to the sums of the metrics (ops/ranking.h).
struct RankingTerms {
  double auc, ap, mrr, hits;
};

/// The terms of one positive, from the sorted keys of p positives and q negatives.
RODEO_HOST_DEVICE RankingTerms ranking_terms(std::uint64_t key, const std::uint64_t* positive, std::int64_t p,
                                             const std::uint64_t* negative, std::int64_t q,
                                             std::int64_t hits) {
  const std::int64_t below = count_below(negative, q, key, false);
  const double ties = static_cast<double>(count_below(negative, q, key, true) - below);
  const double above = static_cast<double>(q - below) - ties;
  const auto reached = static_cast<double>(p - count_below(positive, p, key, false));
  return {static_cast<double>(below) + 0.5 * ties, reached / (reached + above + ties),
          1 / (1 + above + 0.5 * ties), q < hits || key > negative[q - hits] ? 1.0 : 0.0};
}

}  // namespace rodeo::kernels
