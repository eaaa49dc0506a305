/// Sums over edge lists that are sorted by row: degrees, row sums and y = A x without building a CSR.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace rodeo {

/// out[i] = sum of value[e] over the edges e with row[e] = i.
///   row     [edges]  i32 or i64, sorted in ascending order, in [0, rows)
///   value   [edges]  f64, f32, bf16 or f16, on the device of row; ones give degrees, exact in f32 up to 2^24
///   rows             at most 2^31 - 1
///   returns [rows]   rows without edges are zero; 16-bit types are accumulated in f32 and rounded once
/// First checks row in one pass on the device, and waits for it. Throws rodeo::Error that names the first
/// element that is out of order or out of range.
/// No gradient: there is no form for Variable. Deterministic.
/// Source: COO SpMV by segmented reduction (Bell & Garland, SC 2009), with partial sums of rows that span
/// several warps instead of atomics.
Tensor segment_sum(const Tensor& row, const Tensor& value, std::int64_t rows);

/// y = A x for an edge list: segment_sum of weight[e] * x[col[e]], or of x[col[e]] without weight.
///   col     [edges]  dtype and device of row, any order, in [0, cols); checked as row is
///   weight  [edges]  dtype and device of x
///   x       [cols]
/// Checks, errors and determinism are those of segment_sum.
Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                std::int64_t rows);
Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& x, std::int64_t rows);

/// Whether ids [n], i32 or i64, are in ascending order, as segment_sum needs them. One pass on the device of
/// ids, which the host waits for. Deterministic. Throws rodeo::Error for other dtypes and ranks.
bool is_sorted(const Tensor& ids);

}  // namespace rodeo
