#pragma once

#include "layers/attention_conv.h"

namespace rodeo {

/// Dynamic graph attention (Brody, Alon, Yahav, "How attentive are graph attention networks?", ICLR 2022),
/// for each head:
///   p = x W_dst + c_dst,   q = x W_src + c_src,
///   e_ij = a . LeakyReLU(p_i + q_j),   y_i = sum over j of softmax_j(e_ij) q_j
/// See layers/attention_conv.h for adj, x, key and `then`, and ops/gatv2_attention.h for options.form. On a
/// bipartite graph p is of x_dst, q of x_src.
class Gatv2Conv : public AttentionConv {
 public:
  Gatv2Conv(const AttentionConvOptions& options, Random& random, Device device = kCpu,
            DType dtype = DType::kF32);
  Variable forward(const Adjacency& adj, const Features& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  /// With edge features, options.edge_in > 0:  e_ij = a . LeakyReLU(p_i + q_j + f_e W_edge).
  ///   f [edges, edge_in] in adj's edge order. Rows of self loops are the caller's: PyG takes the mean over
  ///   the node's other edges.
  /// Throws Error for another shape. The forms above throw Error if options.edge_in > 0.
  Variable forward(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;

 private:
  /// Inputs are checked.
  Variable attend(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                  const EpilogueOptions& then) const;
  Variable attend(const Adjacency& adj, const BipartiteFeatures& x, const Variable& f, RandomKey key,
                  const EpilogueOptions& then) const;
  /// p and q [nodes, heads * out]; residual_x: the input of the residual.
  Variable attend(const Adjacency& adj, const Variable& p, const Variable& q, const Features& residual_x,
                  const Variable& f, RandomKey key, const EpilogueOptions& then) const;

  Variable w_dst_, w_src_;  // [in_dst or in, heads * out]  "lin_r.weight", "lin_l.weight", PyG's transposed
  Variable c_dst_, c_src_;  // [heads * out]      "lin_r.bias", "lin_l.bias"; undefined without bias
  Variable w_edge_;  // [edge_in, heads * out]  "lin_edge.weight", PyG's transposed; undefined without edge_in
  Variable a_;       // [heads, out]       "att", PyG's [1, heads, out]
};

extern const ConvKind kGatv2;

}  // namespace rodeo
