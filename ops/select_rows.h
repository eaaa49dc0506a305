/// Some rows of a sparse matrix, as a matrix of their own. Deterministic: the same result on every device.
/// Waits for the device, and records nothing. Throws rodeo::Error when shapes, dtypes or devices disagree,
/// and naming the first row that is not there.
#pragma once

#include "core/adjacency.h"
#include "ops/gcn_norm.h"

namespace rodeo {

struct RowSelection {
  Adjacency adj;    // [k, cols]: row i is row rows[i], its edges in their order
  Tensor edge_ids;  // i64 [edges]: which edge of the whole each is; undefined unless asked for
};

///   rows   i64 [k], on the device of adj, in [0, adj.rows()), in any order; repeated ones are copied
RowSelection select_rows(const Adjacency& adj, const Tensor& rows, bool edge_ids = false);

/// What a convolution needs to compute these rows of D^-1/2 (A + I) H alone, h being D^-1/2 X already: adj
/// [k, nodes], its weights where there are some, and the scale [k] of the rows, f64, f32, bf16 or f16.
GcnGraph select_rows(const GcnGraph& graph, const Tensor& rows);

}  // namespace rodeo
