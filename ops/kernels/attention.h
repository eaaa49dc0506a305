/// Backend signatures: attention, edge softmax and operators on heads. See registry.h for what kernels may
/// assume.
#pragma once

#include "ops/attention_types.h"
#include "ops/kernels/registry.h"

namespace rodeo::kernels {

// edge_dropout.h; x and y [edges, heads]
RODEO_KERNEL(edge_dropout, void(const Csr& a, const Tensor& x, double p, RandomKey key, const Tensor& y));

// edge_softmax.h; adj and not its Csr alone, for the plan kept on it
RODEO_KERNEL(edge_softmax, void(const Adjacency& adj, const Tensor& score, const Tensor& y));
RODEO_KERNEL(edge_softmax_backward,
             void(const Adjacency& adj, const Tensor& y, const Tensor& dy, const Tensor& ds));

// heads.h; x, dx [n, heads, k], a, da [heads, k], y, dy [n, heads] or, of head_mean, [n, k]
// With a second pair of operands where a2 or dy2 is defined, in the same pass over x.
RODEO_KERNEL(head_dot,
             void(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& a2, const Tensor& y2));
// dx = dy a; where dy2 is defined, dx += dy a + dy2 a2.
RODEO_KERNEL(head_outer,
             void(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx));
RODEO_KERNEL(head_dot_sum, void(const Tensor& dy, const Tensor& x, const Tensor& da, const Tensor& dy2,
                                const Tensor& da2));  // x may have no rows
RODEO_KERNEL(head_mean, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(head_mean_backward, void(const Tensor& dy, const Tensor& dx));

// attention.h; there are edges, and x has elements
/// What backward needs of forward. Undefined where nothing is recorded.
struct AttentionSaved {
  Tensor positive;  // [rows, heads, k], x's dtype: the part of y that edges of positive score contribute
  Tensor stat;  // [rows, heads, 3], the sums' dtype: the highest score; 1 / the sum of exp(score - highest),
                // or 0 for a row of none; the weights, before dropout, of edges of positive score
};
RODEO_KERNEL(gat_attention,
             void(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                  const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved));
struct AttentionGradients {
  Tensor ds = {}, dt = {}, dx = {};
};
/// s = <x, dst> and t = <x, src> of a layer, and their gradients, [heads, k], the sums' dtype. Undefined
/// where s and t are operands of their own; else dx is that through s and t as well, and ds and dt are
/// undefined.
struct AttentionVectors {
  Tensor dst = {}, src = {}, d_dst = {}, d_src = {};
};
inline void add_operands(std::vector<Tensor>& all, const AttentionGradients& g) {
  for (const Tensor* x : {&g.ds, &g.dt, &g.dx}) add_operands(all, *x);
}
RODEO_KERNEL(gat_attention_backward,
             void(const Adjacency& transposed, const Tensor& s, const Tensor& t, const Tensor& x,
                  const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved,
                  const Tensor& dy, const AttentionGradients& gradients, const AttentionVectors& vectors));

}  // namespace rodeo::kernels
