/// The input of a GraphSAGE layer's matrix product (Hamilton, Ying, Leskovec, "Inductive representation
/// learning on large graphs", NIPS 2017, algorithm 1).
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/features.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// y[i] = [reduce over the edges (i, j) of x[j] | x[i]]: aggregated neighbours and the node's own features,
/// side by side.
///   adj      [m, nodes], m <= nodes: a graph, or a block of a mini-batch whose first m sources are its
///            destinations
///   x        [nodes, n]  f64, f32, bf16 or f16
///   options  of spmm(); options.reduce is the reduction
///   returns  [m, 2 n]
/// Gradient: dx = A^T (dy's first n columns, divided by the row lengths for a mean), plus dy's last n columns
/// in the first m rows. For a maximum or minimum as spmm(). Deterministic. Throws rodeo::Error when shapes,
/// dtypes or devices disagree, and what spmm() throws.
Variable sage_concat(const Adjacency& adj, const Variable& x, const SpmmOptions& options = {});

/// sage_concat() of the constant rows x = rows.x[rows.index] [nodes, n], f64, f32, bf16 or f16, without
/// gradient. Sums and means of rows of whole 16 bytes read rows.x itself: only the first m rows are gathered.
/// Deterministic. Throws Error as gather_rows() does for an index that is out of range.
Variable sage_concat(const Adjacency& adj, const PendingRows& rows, const SpmmOptions& options = {});

}  // namespace rodeo
