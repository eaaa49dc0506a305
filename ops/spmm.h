/// SpMM: sparse matrix times dense matrix, the message passing sum of graph neural networks.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Sparse-dense product  Y = A X.
///   weight  [edges]     edge weights in adj's edge order; leave it out for an unweighted sum
///   x       [cols, n]   any n >= 0; f64, f32, bf16 or f16; weight has the same dtype; all on one device
///   returns [rows, n]   rows without edges are zero; 16-bit types are accumulated in f32
/// With several heads, each head has its own edge weights:
///   weight  [edges, heads],  x [cols, heads, n],  returns [rows, heads, n]
/// Gradients: dX = A^T dY,  dweight = (dY X^T) at A's edges (see sddmm.h).
/// Throws rodeo::Error when shapes, dtypes or devices disagree, or the algorithm does not support the graph.
///
/// Reductions. options.reduce replaces the sum.
/// - kMean runs the same algorithms and then scales rows; so do its gradients. f16 inputs are summed and
///   scaled in f32, because a sum may overflow, and the mean is rounded once. In bf16 the sum is rounded,
///   too.
/// - kMax and kMin have one kernel: algorithm and accumulate must keep their defaults. A row has at most
///   2^31 - 1 edges. dY[i, j] goes to one edge e(i, j): the first in edge order that attains the extremum
///   (the first NaN where there is one).  dx[col(e), j] += weight[e] dY[i, j],  and
///   dweight[e] += dY[i, j] x[col(e), j].  Which edge it was is kept for backward: 4 bytes for each element
///   of Y.
///
/// Determinism. The same inputs on the same device give the same bits, unless kAtomic or kCusparse is set.
/// With kAuto the bits are those of the algorithm that it chooses.
///
/// How kAuto chooses.
/// - Without timing: one column is spmv (spmv.h). On the CPU a rule on the row lengths decides. On CUDA
///   several heads and small products (SpmmTuning::kSmall) take kRode. Graphs of mini-batches take kCsr.
/// - Else by measurement. The first product of a graph with this n, this dtype, and with or without edge
///   weights times the candidates on its own operands, for 50 ms or 12 products, at most 400 ms (longer when
///   this loads kernels or cuSPARSE). It takes the first of kRode, kCsr, kRodeTc and kCusparse that is within
///   2 % of the fastest; on large graphs with even rows kCsr is the first.
/// - The choice is kept: with this graph, in the process for graphs that are equal, and in a file in the
///   user's cache folder (core/cache_folder.h) for later runs of the same build on the same kind of GPU.
/// - Without that file (first run, cache switched off or cleared) a near tie may be decided differently in
///   each run, which changes the last bits. Name the algorithm where that matters, or where each graph is
///   used once.
/// - Nothing is timed during CUDA graph capture: a choice that was not made before is kRode.
/// explain_spmm (ops/spmm_tuner.h) returns the choices and their reasons.
Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options = {});
Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmmOptions& options = {});

}  // namespace rodeo
