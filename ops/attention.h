/// Graph attention: a weighted sum of neighbours whose weights are a softmax over the edges of each row.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// The attention of GAT (Velickovic et al., "Graph Attention Networks", ICLR 2018). For the edges e of row i:
///   y[i, h] = sum of a[e, h] x[col(e), h],
///   a = dropout(softmax over the row's edges of LeakyReLU(s[i, h] + t[col(e), h]))
///   s        [rows, heads]
///   t        [cols, heads]
///   x        [cols, heads, k]   at most 2^18 elements in a row
///   returns  [rows, heads, k]   rows without edges are zero
/// f64, f32, bf16 or f16; all operands and adj of one dtype and device; accumulated in f32 (f64 for f64).
/// Gradients of s, t and x; those of rows and columns without edges are zero.
/// Scores of any size do not overflow. A score of NaN or +inf makes its row NaN in its head.
/// Both forms use the same dropout mask and differ by rounding: in 16-bit types the composed form rounds
/// scores and attention weights, the fused form does not.
/// For backward the fused form keeps y, a second array of its size, and three numbers for each row and head.
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                     const AttentionOptions& options = {});
Variable gat_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                       const AttentionOptions& options = {});

/// For callers with an autograd of their own: what forward computes and keeps, and the gradients from it. The
/// fused form of gat_attention above, whatever options.form says, with its bits.
///   positive  [rows, heads, k], x's dtype    the part of y from edges with a positive score
///   stat      [rows, heads, 3], f32 (f64 for f64)
///   dy        [rows, heads, k]               x's dtype
///   y, state  as gat_attention_forward returned them for the same adj, s, t, x and options
/// Dtypes, determinism and errors as above.
struct GatAttentionState {
  Tensor y, positive, stat;
};
struct GatAttentionGradients {
  Tensor ds, dt, dx;  // of s, t and x
};
GatAttentionState gat_attention_forward(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                        const Tensor& x, const AttentionOptions& options = {});
GatAttentionGradients gat_attention_gradients(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                              const Tensor& x, const GatAttentionState& state,
                                              const Tensor& dy, const AttentionOptions& options = {});

/// gat_attention on a square graph, with the scores of a GAT layer:
///   s[i, h] = <x[i, h], a_dst[h]>,  t[j, h] = <x[j, h], a_src[h]>
///   x             [nodes, heads, k]
///   a_dst, a_src  [heads, k]   of x's dtype, or f32 with 16-bit x (their gradients are then f32)
///   returns       [nodes, heads, k]
/// Computes head_dot (heads.h) and gat_attention, with fewer passes over memory in backward.
/// Dtypes, determinism and errors as above.
Variable gat_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                            const Variable& a_src, const AttentionOptions& options = {});

/// gat_self_attention for callers with an autograd of their own, as gat_attention_forward is for
/// gat_attention.
///   s, t     [nodes, heads]   x's dtype
///   returns  gradients of x, a_dst and a_src, of their shapes and dtypes
struct GatSelfAttentionState {
  Tensor s, t;
  GatAttentionState attention;
};
struct GatSelfAttentionGradients {
  Tensor dx, d_dst, d_src;
};
GatSelfAttentionState gat_self_attention_forward(const Adjacency& adj, const Tensor& x, const Tensor& a_dst,
                                                 const Tensor& a_src, const AttentionOptions& options = {});
GatSelfAttentionGradients gat_self_attention_gradients(const Adjacency& adj, const Tensor& x,
                                                       const Tensor& a_dst, const Tensor& a_src,
                                                       const GatSelfAttentionState& state, const Tensor& dy,
                                                       const AttentionOptions& options = {});

/// Attention from given scores: a = dropout(softmax over the row's edges of score[e, h]).
///   score    [edges, heads]     in adj's edge order
///   x        [cols, heads, k]
///   returns  [rows, heads, k]
/// negative_slope is ignored. There is no fused form: kFused is an Error.
/// Gradients of score and x. Dtypes, determinism and errors as above.
Tensor attention_from_scores(const Adjacency& adj, const Tensor& score, const Tensor& x,
                             const AttentionOptions& options = {});
Variable attention_from_scores(const Adjacency& adj, const Variable& score, const Variable& x,
                               const AttentionOptions& options = {});

}  // namespace rodeo
