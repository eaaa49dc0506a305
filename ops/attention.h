/// Attention over the edges of each row.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/random.h"
#include "core/variable.h"

namespace rodeo {

enum class AttentionForm {
  kAuto,      // kFused: no graph is known where the other is faster
  kFused,     // one pass over the edges forward, one backward; nothing of the size of the edges is kept
  kComposed,  // sddmm, leaky_relu, edge_softmax, dropout and spmm, one after the other
};
std::string_view name(AttentionForm form);
std::ostream& operator<<(std::ostream& out, AttentionForm form);
/// "auto", "fused" or "composed"; throws Error for anything else, naming the choices.
AttentionForm parse_attention_form(std::string_view text);

struct AttentionOptions {
  double negative_slope = 0.2;  // of LeakyReLU, at least 0
  double dropout = 0;           // of attention weights, in [0, 1)
  RandomKey key = {};           // names the dropout mask: see edge_dropout.h
  AttentionForm form = AttentionForm::kAuto;
};

/// The attention of GAT (Velickovic et al., "Graph Attention Networks", ICLR 2018), over the edges e of row
/// i:
///   y[i, h] = sum of a[e, h] x[col(e), h],
///   a = dropout(softmax over the row's edges of LeakyReLU(s[i, h] + t[col(e), h]))
///   s        [rows, heads]
///   t        [cols, heads]
///   x        [cols, heads, k]   a row of at most 2^18 elements
///   returns  [rows, heads, k]   rows without edges are zero
/// f64, f32, bf16 or f16; all operands and adj of one dtype and device; sums are kept in f32 (f64 for f64).
/// Gradients of s, t and x. Those of rows and columns without edges are zero.
/// Scores of any size do not overflow; a score of NaN or +inf makes its row NaN in its head.
/// Both forms use the same dropout mask, and differ by rounding: in 16-bit types the composed form rounds
/// scores and weights to them, the fused form does not.
/// Deterministic: same inputs, same device, same bits.
/// For backward the fused form keeps y, another array like it, and three numbers for each row and head.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                     const AttentionOptions& options = {});
Variable gat_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                       const AttentionOptions& options = {});

/// gat_attention of a layer: s[i, h] = <x[i, h], a_dst[h]>, t[j, h] = <x[j, h], a_src[h]>, on a square graph.
///   x             [nodes, heads, k]
///   a_dst, a_src  [heads, k]
///   returns       [nodes, heads, k]
/// What head_dot (heads.h) and gat_attention compute, with fewer passes over memory backward. Dtypes,
/// determinism and errors as above; beside 16-bit x, a_dst and a_src may be f32, and have f32 gradients then.
Variable gat_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                            const Variable& a_src, const AttentionOptions& options = {});

/// gat_attention for scores of any making: a = dropout(softmax over the row's edges of score[e, h]).
///   score    [edges, heads]     in adj's edge order
///   x        [cols, heads, k]
///   returns  [rows, heads, k]
/// negative_slope has no part in it. There is no fused form: asking for it by name is an Error.
/// Gradients of score and x. Dtypes, determinism and errors as above.
Tensor attention_from_scores(const Adjacency& adj, const Tensor& score, const Tensor& x,
                             const AttentionOptions& options = {});
Variable attention_from_scores(const Adjacency& adj, const Variable& score, const Variable& x,
                               const AttentionOptions& options = {});

}  // namespace rodeo
