/// Vectorised random numbers: the same words as random_word().
#pragma once

#include <cstdint>

#include "core/random.h"

namespace rodeo::kernels::cpu {

constexpr int kBlock = 64;  // numbers per call

/// unit[k] = to_unit(word of element 4 * quad + k), for k in [0, kBlock).
void random_block(std::uint64_t seed, std::uint64_t stream, std::uint64_t quad, float* unit);

/// unit[k] = to_unit(word of element first + row[k] * cols + col[k]), for k in [0, count), count <= kBlock.
void random_entries(std::uint64_t seed, std::uint64_t stream, const std::int32_t* row,
                    const std::int32_t* col, std::int64_t cols, std::int64_t first, int count, float* unit);

}  // namespace rodeo::kernels::cpu
