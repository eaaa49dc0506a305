/// The gather of the sparse kernels without any arithmetic: an upper bound for them. CUDA builds only.
#pragma once

#include "core/tensor.h"

namespace rodeo::bench {

/// Reads about 4 GiB in rows of `row_bytes` (32, 64, 128, 256, 512 or 1024) at pseudo-random positions of
/// `table` (u8, a multiple of 1024 bytes), 16 bytes per lane, and returns the number of bytes read. Row
/// numbers come from a hash, so no column indices are read.
std::int64_t gather_random_rows(const Tensor& table, int row_bytes);

}  // namespace rodeo::bench
