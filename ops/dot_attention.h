/// Scaled dot-product attention over the edges of a graph.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// The attention of Vaswani et al. ("Attention is all you need", NeurIPS 2017) along the edges of a graph, as
/// in Shi et al. ("Masked label prediction", IJCAI 2021). For the edges e of row i:
///   y[i, h] = sum of a[e, h] (v[col(e), h] + edge[e, h]),
///   a = dropout(softmax over the row's edges of scale <q[i, h], key[col(e), h] + edge[e, h]> + bias[e, h])
///   q        [rows, heads, k]
///   key      [cols, heads, k]
///   v        [cols, heads, m]
///   bias     [edges, heads]      in adj's edge order; leave it out for zeros
///   edge     [edges, heads, k]   where m == k; leave it out for zeros
///   returns  [rows, heads, m]    rows without edges are zero
/// A row of q, key or v has at most 2^18 elements. f64, f32, bf16 or f16; all operands and adj of one dtype
/// and device; accumulated in f32 (f64 for f64).
/// Gradients of all operands; those of rows and columns without edges are zero.
/// A score of -inf gives the weight 0, also in a row where all scores are -inf. A NaN or +inf makes the whole
/// row NaN in its head.
/// options.negative_slope is ignored. options.scale multiplies the dot products, 1 / sqrt(k) by default.
/// kFused on CUDA takes heads of at most 256 elements (k and m; 64 of f64), else it is an Error; kAuto takes
/// kComposed there. For backward kFused keeps y and one number for each row and head, the log of the sum of
/// exp(score): gradients have a relative error of the dtype's epsilon times the score.
/// kComposed keeps arrays [edges, heads], and rounds them in 16-bit types; with `edge`, two [edges, heads,
/// k]. Both forms use the dropout mask of edge_dropout(). Over ranks the rows of key and v are gathered.
/// Deterministic: same inputs, same device, same bits. Throws rodeo::Error when shapes, dtypes or devices
/// disagree.
Tensor dot_attention(const Adjacency& adj, const Tensor& q, const Tensor& key, const Tensor& v,
                     const Tensor& bias = {}, const Tensor& edge = {}, const AttentionOptions& options = {});
Variable dot_attention(const Adjacency& adj, const Variable& q, const Variable& key, const Variable& v,
                       const Variable& bias = {}, const Variable& edge = {},
                       const AttentionOptions& options = {});

/// For callers with an autograd of their own: what forward computes and keeps, and the gradients from it. The
/// fused form of dot_attention above, whatever options.form says, with its bits.
///   lse       [rows, heads], f32 (f64 for f64)   log of the sum of exp(score); where all weights are 0 the
///                                               dtype's largest number
///   dy        [rows, heads, m]
///   y, lse    as dot_attention_forward returned them for the same adj, operands and options
/// Gradients of operands that are left out are undefined. Dtypes, determinism and errors as above.
struct DotAttentionOperands {
  Tensor q, key, v, bias = {}, edge = {};
};
struct AttentionState {
  Tensor y, lse;
};
AttentionState dot_attention_forward(const Adjacency& adj, const DotAttentionOperands& in,
                                     const AttentionOptions& options = {});
DotAttentionOperands dot_attention_gradients(const Adjacency& adj, const DotAttentionOperands& in,
                                             const AttentionState& state, const Tensor& dy,
                                             const AttentionOptions& options = {});

}  // namespace rodeo
