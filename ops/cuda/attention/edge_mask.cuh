/// Dropout of attention weights inside kernels.
#pragma once

#include <cstdint>

#include "core/cuda/launch.cuh"
#include "ops/edge_dropout.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cuda {

/// The heads first .. first + heads - 1 that an edge of A from `col` to `row` keeps, a bit for each.
///   threshold  of dropout_keeps()
__device__ __forceinline__ std::uint32_t kept_heads(const RandomKey& key, std::uint32_t threshold,
                                                    std::uint32_t row, std::uint32_t col, int first,
                                                    int heads) {
  const int skip = first & 3;
  std::uint32_t bits = 0;
  for (int at = 0; at < skip + heads; at += 4) {
    const Philox4 random = edge_words(key, row, col, static_cast<std::uint32_t>((first + at) >> 2));
#pragma unroll
    for (int k = 0; k < 4; ++k)
      bits |= static_cast<std::uint32_t>(dropout_keeps(random.word[k], threshold)) << (at + k);
  }
  return bits >> skip;
}

}  // namespace rodeo::kernels::cuda
