/// SpMV: sparse matrix times vector.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/spmv_types.h"

namespace rodeo {

/// Sparse matrix-vector product  y = A x.
///   weight  [edges]  edge weights in adj's edge order; leave it out for an unweighted sum
///   x       [cols]   f64, f32, bf16 or f16; dtype and device of weight, device of adj
///   returns [rows]   rows without edges are zero; 16-bit types are accumulated in f32 and rounded once
/// Gradients: dx = A^T dy,  dweight[e] = dy[row(e)] x[col(e)].
/// Deterministic: same inputs, same device, same bits, with every algorithm. Different algorithms add in
/// different orders.
/// Sources: kVector is CSR-vector (Bell & Garland, SC 2009); kRode splits rows as RoDe (Pang et al., PPoPP
/// 2024); kStream is CSR-stream (Greathouse & Daga) on merge-path tiles (Merrill & Garland); kSegmented is
/// COO SpMV. Throws rodeo::Error when shapes, dtypes or devices disagree, or options contradict each other.
Tensor spmv(const Adjacency& adj, const Tensor& x, const SpmvOptions& options = {});
Tensor spmv(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options = {});
Variable spmv(const Adjacency& adj, const Variable& x, const SpmvOptions& options = {});
Variable spmv(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmvOptions& options = {});

/// The algorithm that kAuto selects for this graph. Always kVector on the CPU, which schedules rows
/// dynamically.
SpmvAlgorithm choose_spmv_algorithm(const Adjacency& adj);

}  // namespace rodeo
