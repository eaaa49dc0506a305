/// Conversions between dense matrices and CSR.
#pragma once

#include "core/adjacency.h"
#include "ops/convert_types.h"

namespace rodeo {

struct WeightedAdjacency {
  Adjacency adj;  // rows sorted by column
  Tensor weight;  // [edges]
};

/// The nonzeros of x: an edge (i, j) with weight x[i, j] for each x[i, j] != 0. NaN is a nonzero, -0.0 is a
/// zero.
///   x        [m, n]   f64, f32, bf16 or f16, n <= 2^31 - 1
///   weight   [edges]  the same bits as in x
/// Runs on the device of x; the result is the same on every device, and for every `scan`, which is for
/// comparison on a GPU. No gradient. After J. Demouth, "Sparse Matrix-Matrix Multiplication on the GPU", GTC
/// 2012. Throws rodeo::Error unless x is a matrix of a floating dtype.
WeightedAdjacency dense_to_csr(const Tensor& x, RowScan scan = RowScan::kDevice);

/// The dense matrix of a graph: y[i, j] is the sum of the weights of all edges (i, j), added in edge order
/// and rounded once (16-bit types are accumulated in f32); 0 where there is no edge.
///   weight   [edges]       f64, f32, bf16 or f16, on adj's device; y has its dtype. Left out: ones
///   returns  [rows, cols]  the same bits on every device (the payload of a NaN may differ)
/// No gradient. Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor csr_to_dense(const Adjacency& adj, const Tensor& weight);
Tensor csr_to_dense(const Adjacency& adj, DType dtype = DType::kF32);

}  // namespace rodeo
