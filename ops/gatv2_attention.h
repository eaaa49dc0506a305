/// The attention of GATv2.
#pragma once

#include "ops/dot_attention.h"

namespace rodeo {

/// The attention of Brody, Alon, Yahav ("How attentive are graph attention networks?", ICLR 2022). For the
/// edges e of row i:
///   y[i, h] = sum of w[e, h] r[col(e), h],
///   w = dropout(softmax over the row's edges of <a[h], LeakyReLU(l[i, h] + r[col(e), h] + edge[e, h])>)
///   l        [rows, heads, k]
///   r        [cols, heads, k]    at most 2^18 elements in a row
///   a        [heads, k]          of l's dtype, or f32 with 16-bit l (its gradient is then f32)
///   edge     [edges, heads, k]   in adj's edge order; leave it out for zeros
///   returns  [rows, heads, k]    rows without edges are zero
/// Gradients of all operands. kComposed keeps arrays [edges, heads, k]. Forms, dtypes, scores without a
/// finite value, ranks (r is gathered), determinism and errors are those of dot_attention; options.scale is
/// ignored.
Tensor gatv2_attention(const Adjacency& adj, const Tensor& l, const Tensor& r, const Tensor& a,
                       const Tensor& edge = {}, const AttentionOptions& options = {});
Variable gatv2_attention(const Adjacency& adj, const Variable& l, const Variable& r, const Variable& a,
                         const Variable& edge = {}, const AttentionOptions& options = {});

/// For callers with an autograd of their own, as dot_attention_forward is for dot_attention.
struct Gatv2AttentionOperands {
  Tensor l, r, a, edge = {};
};
AttentionState gatv2_attention_forward(const Adjacency& adj, const Gatv2AttentionOperands& in,
                                       const AttentionOptions& options = {});
Gatv2AttentionOperands gatv2_attention_gradients(const Adjacency& adj, const Gatv2AttentionOperands& in,
                                                 const AttentionState& state, const Tensor& dy,
                                                 const AttentionOptions& options = {});

}  // namespace rodeo
