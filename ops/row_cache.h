/// Rows of a matrix in host memory, some of which a device keeps too.
#pragma once

#include <functional>
#include <vector>

#include "ops/row_cache_types.h"

namespace rodeo {

/// A copy of the `count` rows of x that were read most often; of equally often read ones, those of lower
/// index.
///   x      [m, n]  f64, f32, bf16 or f16; m <= 2^31 - 1
///   reads  [m] how often each row was read
///   count  in [0, m]
/// Instead of x, gather(index) may return the rows of an ascending index, i64 [count] on `device`.
/// Deterministic. Throws Error when sizes disagree.
RowCache cache_rows(const Tensor& x, const std::vector<std::int32_t>& reads, std::int64_t count);
RowCache cache_rows(const std::function<Tensor(const Tensor& index)>& gather,
                    const std::vector<std::int32_t>& reads, std::int64_t count, Device device);

/// y[i] = x[index[i]], from the cache where it has the row: the bits are those of gather_rows(x, index).
///   x [m, n], cache of x, index i64 [k] in [0, m) -> [k, n] on the device of x
/// Deterministic. Throws Error as gather_rows() does.
Tensor gather_rows(const Tensor& x, const RowCache& cache, const Tensor& index);

}  // namespace rodeo
