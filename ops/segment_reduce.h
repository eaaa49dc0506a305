/// Sums, means and extrema of consecutive rows.
#pragma once

#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// y[s] = the sum, mean, maximum or minimum of the rows x[offsets[s]] ... x[offsets[s + 1] - 1], column by
/// column: the readout of a batch of graphs, for example.
///   x        [rows] or [rows, n]          n >= 0; f64, f32, bf16 or f16
///   offsets  [segments + 1]               i64, non-decreasing from 0 to rows, as the indptr of a CSR matrix
///   returns  [segments] or [segments, n]  0 for an empty segment; 16-bit types are accumulated in f32 and
///                                         rounded once
/// rows and segments are at most 2^31 - 1. An extremum is NaN where a row is.
/// Gradients, for a row r of segment s:  sum  dx[r] = dy[s];  mean  dx[r] = dy[s] / rows of s;  kMax and kMin
/// dx[r, j] = dy[s, j] at the first row with the extremum (the first NaN where there is one), else 0.
/// First checks offsets on their device and plans the sum, for which it waits: it cannot be captured in a
/// CUDA graph. Where the segments are the same in every step, an Adjacency with row_ptr = offsets and
/// columns 0 ... rows - 1, and spmm(), can.
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and names the first bad offset.
Tensor segment_reduce(const Tensor& x, const Tensor& offsets, Reduce reduce);
Variable segment_reduce(const Variable& x, const Tensor& offsets, Reduce reduce);

}  // namespace rodeo
