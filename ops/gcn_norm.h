/// The symmetric normalisation of graph convolution. Floating dtypes: f64, f32, bf16, f16, with sums of
/// 16-bit types kept in f32. Deterministic, unless SpmmOptions ask for something else. Throws rodeo::Error
/// when shapes, dtypes or devices disagree, or a graph is not square.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/spmm.h"

namespace rodeo {

/// D^-1/2 (A + I) D^-1/2 of Kipf & Welling, "Semi-supervised classification with graph convolutional
/// networks" (ICLR 2017), kept as a pattern and a row scale: the hot sum reads no weights where the graph has
/// none.
struct GcnGraph {
  Adjacency adj;  // A + I
  Tensor weight;  // [edges] where A has weights (self loops that were added weigh 1); else undefined
  Tensor scale;   // [rows] D^-1/2, where D is the sum of each row of A + I; 0 where that sum is not positive
};

/// Both are of the dtype of what is propagated; of 16-bit values scale may be f32.

/// Prepares a square graph. weight is [edges] of adj, or undefined. A node that has a self loop keeps it.
///   dtype of scale: that of weight, else `dtype`.
GcnGraph gcn_norm(const Adjacency& adj, const Tensor& weight = {}, DType dtype = DType::kF32);

/// (A + I) X, without the scales.   x [nodes, n] -> [nodes, n].   Gradient: the transpose, applied to dY.
Tensor aggregate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options = {});
Variable aggregate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options = {});

/// D^-1/2 (A + I) D^-1/2 X.   x [nodes, n] -> [nodes, n].   Gradient: the transpose of the same, applied to
/// dY.
Tensor propagate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options = {});
Variable propagate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options = {});

/// y[i, :] = s[i] x[i, :].   x [m, n], s [m] of x's dtype, or f32 beside 16-bit x.   Gradient: dx[i, :] =
/// s[i] dy[i, :]; s is a constant.
Tensor scale_rows(const Tensor& x, const Tensor& s);
Variable scale_rows(const Variable& x, const Tensor& s);

/// Divides every row by the sum of its absolute values; rows of zeros stay zero. x [m, n], floating.
Tensor normalize_rows(const Tensor& x);

}  // namespace rodeo
