/// The access pattern of every sparse product, with nothing else to do. In builds with CUDA only.
#pragma once

#include "core/tensor.h"

namespace rodeo::bench {

/// Reads about 4 GiB of rows of `row_bytes` (32, 64, 128, 256, 512 or 1024) from pseudo-random places of
/// `table` (u8, a multiple of 1024 bytes), 16 bytes a lane, and returns the bytes read. No column index is
/// read from memory: rows follow from a hash.
std::int64_t gather_random_rows(const Tensor& table, int row_bytes);

}  // namespace rodeo::bench
