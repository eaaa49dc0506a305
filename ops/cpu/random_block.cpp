#include "ops/cpu/random_block.h"

namespace rodeo::kernels::cpu {

void random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t quad, float* unit) {
  constexpr int kQuads = kBlock / 4;
  std::uint32_t words[4][kQuads];
#pragma omp simd
  for (int i = 0; i < kQuads; ++i) {
    const Philox4 random = philox(seed, stream, quad + static_cast<std::uint64_t>(i));
    words[0][i] = random.word[0];
    words[1][i] = random.word[1];
    words[2][i] = random.word[2];
    words[3][i] = random.word[3];
  }
  for (int i = 0; i < kQuads; ++i)
    for (int k = 0; k < 4; ++k) unit[4 * i + k] = to_unit(words[k][i]);
}

void random_entries(std::uint64_t seed, std::uint64_t stream, const std::int32_t* row,
                    const std::int32_t* col, std::int64_t cols, std::int64_t first, int count, float* unit) {
#pragma omp simd
  for (int k = 0; k < count; ++k) {
    const auto index = static_cast<std::uint64_t>(first + row[k] * cols + col[k]);
    const Philox4 words = philox(seed, stream, index >> 2);
    // Two selects instead of an index, which would go through memory.
    const std::uint32_t low = index & 1 ? words.word[1] : words.word[0];
    const std::uint32_t high = index & 1 ? words.word[3] : words.word[2];
    unit[k] = to_unit(index & 2 ? high : low);
  }
}

}  // namespace rodeo::kernels::cpu
