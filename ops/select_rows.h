/// Submatrices of selected rows. They wait for the device and are not recorded for backward. Deterministic:
/// the same result on every device. They throw rodeo::Error when shapes, dtypes or devices disagree, and name
/// the first row that is out of range.
#pragma once

#include "core/adjacency.h"
#include "ops/gcn_norm.h"

namespace rodeo {

struct RowSelection {
  Adjacency adj;    // [k, cols]: row i is row rows[i] of the whole, its edges in their order
  Tensor edge_ids;  // i64 [edges]: the position of each edge in the whole; undefined unless requested
};

/// Selects rows of a graph. If the graph is sharded over ranks, they are rows of this rank: products with
/// them are in the form kRows, and every rank calls them (aggregation.h).
///   rows   i64 [k], on the device of adj, in [0, adj.rows()), in any order; repeated ones are copied
RowSelection select_rows(const Adjacency& adj, const Tensor& rows, bool edge_ids = false);

/// Selects rows of a normalised graph: adj [k, nodes], its weights where there are some, and the scale [k] of
/// the selected rows. A convolution computes these rows of D^-1/2 (A + I) H with it, from H = D^-1/2 X.
GcnGraph select_rows(const GcnGraph& graph, const Tensor& rows);

}  // namespace rodeo
