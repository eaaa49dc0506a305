/// Sampled dense-dense matrix product.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

/// s[e] = <b1[row(e), :], b2[col(e), :]>  at the edges of adj.
///   b1      [rows, k]
///   b2      [cols, k]   k >= 0; same floating dtype and device as b1 and adj
///   returns [edges]     in adj's edge order
/// Gradients: db1 = S B2,  db2 = S^T B1, where S holds ds at adj's edges.
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor sddmm(const Adjacency& adj, const Tensor& b1, const Tensor& b2);
Variable sddmm(const Adjacency& adj, const Variable& b1, const Variable& b2);

}  // namespace rodeo
