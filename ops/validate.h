/// Scans of graphs and values that come from outside the library: ids in range, finite values, a valid CSR.
/// They run on the device of their input, read it once, and give the same result on every device. They throw
/// rodeo::Error when shapes, dtypes or devices disagree; what the values are is the result.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "ops/convert_types.h"

namespace rodeo {

/// The first position whose id is outside [0, limit), or -1.
///   ids  [n]  i32 or i64
std::int64_t first_outside(const Tensor& ids, std::int64_t limit);

/// The first position of a NaN or an infinity, in row-major order, or -1.
///   values  any shape  f64, f32, bf16 or f16
std::int64_t first_not_finite(const Tensor& values);

/// Scans a CSR matrix whose values nobody has checked. No read is out of bounds, whatever the values are.
///   row_ptr  i64 [rows + 1]
///   col      i32 [edges]
CsrScan scan_csr(const Tensor& row_ptr, const Tensor& col, std::int64_t cols);

}  // namespace rodeo
