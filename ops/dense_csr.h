/// Dense matrices to CSR and back.
#pragma once

#include "core/adjacency.h"

namespace rodeo {

struct WeightedAdjacency {
  Adjacency adj;  // rows sorted by column
  Tensor weight;  // [edges]
};

/// The nonzeros of x: an edge (i, j) of weight x[i, j] wherever x[i, j] != 0. NaN is a nonzero, -0.0 is a
/// zero.
///   x        [m, n]   f64, f32, bf16 or f16, n <= 2^31 - 1; on CUDA the work is done there
///   weight   [edges]  the values of x, to the bit
/// The result is the same on every device. No gradients: it is a conversion.
/// Throws rodeo::Error unless x is a matrix of a floating dtype.
WeightedAdjacency dense_to_csr(const Tensor& x);

/// The matrix of a graph: y[i, j] is the sum of the weights of all edges (i, j), added in edge order and
/// rounded to the dtype once (16-bit types are summed in f32); 0 where there is none.
///   weight   [edges]       f64, f32, bf16 or f16, on adj's device; y has its dtype
///   returns  [rows, cols]  the same bits on every device (a NaN may differ in its payload)
/// Without weights every edge counts as 1. No gradients.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor csr_to_dense(const Adjacency& adj, const Tensor& weight);
Tensor csr_to_dense(const Adjacency& adj, DType dtype = DType::kF32);

}  // namespace rodeo
