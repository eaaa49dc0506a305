/// Sums over the edges of each row.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

/// y[i] = sum of x[e] over the edges e of row i, or of x[edge_ids[e]] where edge_ids is given.
///   x         [edges] or [edges, k]   k >= 0; f64, f32, bf16 or f16, on the device of adj
///   edge_ids  i64 [edges] in [0, edges), checked as index_checks.h says. With a transpose and its edge_ids
///             the result is the sum over the columns of the original graph, and x is not permuted
///   returns   [rows] or [rows, k]     rows without edges are zero; 16-bit types are accumulated in f32
/// Gradient: dx[e] = dy[row(e)].
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids = {});
Variable edge_sum(const Adjacency& adj, const Variable& x);

}  // namespace rodeo
