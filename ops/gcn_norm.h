/// The symmetric normalisation of graph convolution. Floating dtypes: f64, f32, bf16, f16; 16-bit types are
/// accumulated in f32. Deterministic, unless SpmmOptions allow otherwise. Throws rodeo::Error when shapes,
/// dtypes or devices disagree, or a graph is not square.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/scale_rows.h"
#include "ops/spmm.h"

namespace rodeo {

/// D^-1/2 (A + I) D^-1/2 of Kipf & Welling, "Semi-supervised classification with graph convolutional
/// networks" (ICLR 2017), stored as a sparse pattern and a row scale. An unweighted graph stays unweighted:
/// its sparse products read no edge weights.
/// weight and scale have the dtype of the propagated values; with 16-bit values scale may be f32.
struct GcnGraph {
  Adjacency adj;  // A + I
  Tensor weight;  // [edges] where A has edge weights (added self loops have weight 1), else undefined
  Tensor scale;   // [rows] D^-1/2 with D the row sums of A + I; 0 where the row sum is not positive
};

/// Normalises a square graph.
///   weight  [edges] of adj, or undefined
///   dtype   of scale where weight is undefined; else scale has the dtype of weight
/// A node that has a self loop gets no second one.
GcnGraph gcn_norm(const Adjacency& adj, const Tensor& weight = {}, DType dtype = DType::kF32);

/// D^-1/2 of the row sums of a matrix, which need not be square: f32 or the dtype of weight, [rows].
///   weight  [edges] of adj, or undefined: ones
Tensor inverse_sqrt_degrees(const Adjacency& adj, const Tensor& weight = {}, DType dtype = DType::kF32);

/// Normalised edges of a block of a mini-batch (datasets/neighbor_sampler.h), sampled from a GcnGraph's adj:
///   y[i] = target_scale[i] times the mean over the edges (i, j) of weight source_scale[j] x[j]
/// A row's mean times its edges in the whole graph estimates its sum; it is the sum where all edges were
/// sampled.
struct GcnBlock {
  Adjacency adj;        // [destinations, sources]; the first sources are the destinations
  Tensor weight;        // [edges]; undefined: 1
  Tensor source_scale;  // [sources]
  Tensor target_scale;  // [destinations]
};

/// [rows] the number of edges of each row of graph.adj, in the dtype of graph.scale: what gcn_block() needs,
/// computed once. Of a graph that is sharded over ranks, of all its rows, as graph.scale must be: a
/// collective call.
Tensor row_degrees(const GcnGraph& graph);
/// The normalised block.
///   degree    row_degrees(whole)
///   edge_ids  i64 [edges], edges of whole.adj;  sources i64 [sources], its nodes
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
GcnBlock gcn_block(const GcnGraph& whole, const Tensor& degree, const Adjacency& block,
                   const Tensor& edge_ids, const Tensor& sources);
/// The formula of GcnBlock without target_scale.   x [sources, n] -> [destinations, n]
Variable aggregate(const GcnBlock& block, const Variable& x, SpmmOptions options = {});

/// (A + I) X, without the scales.   x [nodes, n] -> [nodes, n].   Gradient: dX = (A + I)^T dY.
Tensor aggregate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options = {});
Variable aggregate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options = {});

/// D^-1/2 (A + I) D^-1/2 X.   x [nodes, n] -> [nodes, n].   Gradient: the transposed product of dY.
Tensor propagate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options = {});
Variable propagate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options = {});

}  // namespace rodeo
