/// The dropout decision of all kernels: one integer comparison per random word, on the CPU and on CUDA.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/random.h"

namespace rodeo::kernels {

/// The largest word that drops an element with probability p in (0, 1): to_unit(word) < p in f32
/// (core/random.h). 0 for p = 0, where kernels draw no words.
///
/// to_unit() takes the upper 24 bits, so words are dropped in runs of 2^8. The bound is inclusive: the
/// exclusive one is 2^32 where p rounds to 1 in f32.
inline std::uint32_t dropout_threshold(double p) {
  if (p <= 0) return 0;
  const double dropped = std::max(1.0, std::ceil(static_cast<float>(p) * 0x1p24));  // of 2^24 values
  return static_cast<std::uint32_t>(dropped * 0x1p8 - 1);
}

/// Philox calls for the rows before the first of a matrix with `cols` columns: RandomKey::first_row is a
/// multiple of 4 there.
RODEO_HOST_DEVICE std::uint64_t first_quad(const RandomKey& key, std::int64_t cols) {
  return static_cast<std::uint64_t>(key.first_row / 4 * cols);
}

RODEO_HOST_DEVICE bool dropout_keeps(std::uint32_t word, std::uint32_t threshold) {
  return word > threshold;
}

}  // namespace rodeo::kernels
