/// Sums over the edges of each row.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

/// y[i] = sum of x[e] over the edges e of row i; with edge_ids, of x[edge_ids[e]].
///   x         [edges] or [edges, k]   k >= 0; f64, f32, bf16 or f16, on the device of adj
///   edge_ids  i64 [edges], trusted    transpose(adj).edge_ids sums over columns without moving x
///   returns   [rows] or [rows, k]     rows without edges are zero; 16-bit types are summed in f32
/// Gradient: dx[e] = dy[row(e)].
/// Deterministic: same inputs, same device, same bits. Throws rodeo::Error when shapes, dtypes or devices
/// disagree.
Tensor edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids = {});
Variable edge_sum(const Adjacency& adj, const Variable& x);

}  // namespace rodeo
