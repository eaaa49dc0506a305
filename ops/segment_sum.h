/// Sums over edge lists that are sorted by row, before any CSR exists: degrees, row sums, y = A x.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace rodeo {

/// out[i] = sum of value[e] over the edges e with row[e] = i.
///   row     [edges]  i32 or i64, rising (equal neighbours are fine), in [0, rows)
///   value   [edges]  f64, f32, bf16 or f16, on the device of row; ones give degrees, exact in f32 up to 2^24
///   returns [rows]   rows without edges are zero; 16-bit types are summed in f32 and rounded once
/// The order of row and its range are checked first, in one pass on the device that the host waits for: a
/// list that is not sorted, or leaves [0, rows), is an Error naming the first offender, and nothing is
/// written. rows is at most 2^31 - 1. Deterministic. Not recorded: it has no form on Variable.
/// Source: COO SpMV by segmented reduction (Bell & Garland, SC 2009), with a sum per open row in place of
/// atomics.
Tensor segment_sum(const Tensor& row, const Tensor& value, std::int64_t rows);

/// y = A x for an edge list: segment_sum of weight[e] * x[col[e]], or of x[col[e]] without weight.
///   col     [edges]  dtype and device of row, any order, in [0, cols); checked as row is
///   weight  [edges]  dtype and device of x
///   x       [cols]
/// Checks, Errors and determinism are those of segment_sum.
Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                std::int64_t rows);
Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& x, std::int64_t rows);

}  // namespace rodeo
