/// Random numbers for many elements at once: the same as random_word()'s, in vector registers.
#pragma once

#include <cstdint>

#include "core/random.h"

namespace rodeo::kernels::cpu {

constexpr int kBlockQuads = 16, kBlock = 4 * kBlockQuads;

/// unit[k] = to_unit of the word of element 4 * quad + k, for k in [0, kBlock).
inline void random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t quad, float* unit) {
  std::uint32_t words[4][kBlockQuads];
#pragma omp simd
  for (int i = 0; i < kBlockQuads; ++i) {
    const Philox4 random = philox(seed, stream, quad + static_cast<std::uint64_t>(i));
    words[0][i] = random.word[0];
    words[1][i] = random.word[1];
    words[2][i] = random.word[2];
    words[3][i] = random.word[3];
  }
  for (int i = 0; i < kBlockQuads; ++i)
    for (int k = 0; k < 4; ++k) unit[4 * i + k] = to_unit(words[k][i]);
}

}  // namespace rodeo::kernels::cpu
