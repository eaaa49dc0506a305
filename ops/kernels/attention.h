/// Kernels of attention, edge softmax and operators on heads. registry.h states what kernels may assume.
#pragma once

#include "ops/attention_types.h"
#include "ops/kernels/registry.h"

namespace rodeo::kernels {

// edge_dropout.h: x, y [edges, heads]
RODEO_KERNEL(edge_dropout, void(const Csr& a, const Tensor& x, double p, RandomKey key,
                                std::int64_t first_head, const Tensor& y));

// edge_softmax.h: score, y, dy, ds [edges] or [edges, heads]. They take the Adjacency for its cached plan.
RODEO_KERNEL_IN(kSparse, edge_softmax, void(const Adjacency& adj, const Tensor& score, const Tensor& y));
RODEO_KERNEL_IN(kSparse, edge_softmax_backward,
                void(const Adjacency& adj, const Tensor& y, const Tensor& dy, const Tensor& ds));

// heads.h: x, dx [n, heads, k], a, da [heads, k], y, dy [n, heads]
/// y = <x, a>; where a2 is defined, y2 = <x, a2> in the same pass over x.
RODEO_KERNEL(head_dot,
             void(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& a2, const Tensor& y2));
/// dx = dy a; where dy2 is defined, dx += dy a + dy2 a2.
RODEO_KERNEL(head_outer,
             void(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx));
/// da = sum over rows of dy x; where dy2 is defined, da2 = sum of dy2 x. x may have no rows.
RODEO_KERNEL(head_dot_sum,
             void(const Tensor& dy, const Tensor& x, const Tensor& da, const Tensor& dy2, const Tensor& da2));
/// y, dy [n, k]
RODEO_KERNEL(head_mean, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(head_mean_backward, void(const Tensor& dy, const Tensor& dx));

// attention.h: s [rows, heads], t [cols, heads], x [cols, heads, k], y [rows, heads, k]; neither the edges
// nor x are empty
/// What forward saves for backward. Undefined where nothing is recorded.
struct AttentionSaved {
  Tensor positive;  // [rows, heads, k], x's dtype: the part of y from edges with a positive score
  Tensor stat;  // [rows, heads, 3], accumulator dtype: the maximum score; 1 / sum of exp(score - maximum), 0
                // for a row without edges; the sum of weights, before dropout, of edges with a positive score
};
RODEO_KERNEL_IN(kSparse, gat_attention,
                void(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                     const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved));
struct AttentionGradients {
  Tensor ds = {}, dt = {}, dx = {};
};
/// Vectors of a layer whose scores are s = <x, dst> and t = <x, src>, and their gradients, all [heads, k] in
/// the accumulator dtype. dx then includes the gradient through s and t, and dt is undefined.
/// All undefined where s and t are inputs.
struct AttentionVectors {
  Tensor dst = {}, src = {}, d_dst = {}, d_src = {};
};
inline void add_operands(std::vector<Tensor>& all, const AttentionGradients& g) {
  for (const Tensor* x : {&g.ds, &g.dt, &g.dx}) add_operands(all, *x);
}
/// The first step of backward, after which y and what forward saved may be freed: ds, and what the pass over
/// the edges reads of a row.
///   terms [rows, heads, 4], accumulator dtype: s, the maximum score, 1 / sum, <dy, y>
RODEO_KERNEL_IN(kSparse, gat_attention_terms,
                void(const Tensor& s, const Tensor& y, const AttentionSaved& saved, const Tensor& dy,
                     double negative_slope, const Tensor& terms, const Tensor& ds));
/// The second step: dt and dx, from ds and a pass over the edges.
RODEO_KERNEL_IN(kSparse, gat_attention_backward,
                void(const Adjacency& transposed, const Tensor& t, const Tensor& x,
                     const AttentionOptions& options, const Tensor& terms, const Tensor& dy,
                     const AttentionGradients& gradients, const AttentionVectors& vectors));

// dot_attention.h, gatv2_attention.h: q, l [rows, heads, k], key, r [cols, heads, k], v [cols, heads, m],
// a [heads, k], bias [edges, heads], edge [edges, heads, k], the last two undefined where there are none;
// y [rows, heads, m]; neither the edges nor y are empty.
//   lse [rows, heads], accumulator dtype: log of the sum of exp(score); the largest number for a row whose
//   weights are all 0. Undefined in forward where nothing is recorded.
struct DotAttentionInputs {
  Tensor q, key, v, bias = {}, edge = {};
};
/// dbias and dedge are undefined where their inputs are.
struct DotAttentionGradients {
  Tensor dq, dkey, dv, dbias = {}, dedge = {};
};
inline void add_operands(std::vector<Tensor>& all, const DotAttentionInputs& in) {
  for (const Tensor* x : {&in.q, &in.key, &in.v, &in.bias, &in.edge}) add_operands(all, *x);
}
inline void add_operands(std::vector<Tensor>& all, const DotAttentionGradients& g) {
  for (const Tensor* x : {&g.dq, &g.dkey, &g.dv, &g.dbias, &g.dedge}) add_operands(all, *x);
}
RODEO_KERNEL_IN(kSparse, dot_attention,
                void(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                     const AttentionOptions& options, const Tensor& y, const Tensor& lse));
RODEO_KERNEL_IN(kSparse, dot_attention_backward,
                void(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                     const AttentionOptions& options, const Tensor& y, const Tensor& lse, const Tensor& dy,
                     const DotAttentionGradients& gradients));
struct Gatv2Inputs {
  Tensor l, r, a, edge = {};
};
/// da [heads, k], accumulator dtype.
struct Gatv2Gradients {
  Tensor dl, dr, da, dedge = {};
};
inline void add_operands(std::vector<Tensor>& all, const Gatv2Inputs& in) {
  for (const Tensor* x : {&in.l, &in.r, &in.a, &in.edge}) add_operands(all, *x);
}
inline void add_operands(std::vector<Tensor>& all, const Gatv2Gradients& g) {
  for (const Tensor* x : {&g.dl, &g.dr, &g.da, &g.dedge}) add_operands(all, *x);
}
RODEO_KERNEL_IN(kSparse, gatv2_attention,
                void(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                     const Tensor& y, const Tensor& lse));
RODEO_KERNEL_IN(kSparse, gatv2_attention_backward,
                void(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                     const Tensor& y, const Tensor& lse, const Tensor& dy, const Gatv2Gradients& gradients));

}  // namespace rodeo::kernels
