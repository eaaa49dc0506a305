#pragma once

#include <vector>

#include "layers/attention_conv.h"

namespace rodeo {

/// The graph transformer layer of Shi et al. ("Masked label prediction", IJCAI 2021), PyG's TransformerConv.
/// For each head:
///   e_ij = <q_i, k_j> / sqrt(out),   y_i = sum over j of softmax_j(e_ij) v_j,
///   q = x W_query + c_query,  k = x W_key + c_key,  v = x W_value + c_value
/// The heads are merged. options.residual adds r = x W_skip + c_skip (PyG's root_weight). With options.beta
/// the sum is a gate:  beta r + (1 - beta) y,  beta = sigmoid([y, r, y - r] w_beta).
/// See layers/attention_conv.h for adj, x, key and `then`. There is no bias behind the heads: options.bias is
/// of q, k, v and r. Initial weights are those of Linear, biases too. options.negative_slope is ignored. On a
/// bipartite graph q and r are of x_dst, k and v of x_src.
class TransformerConv : public AttentionConv {
 public:
  TransformerConv(const AttentionConvOptions& options, Random& random, Device device = kCpu,
                  DType dtype = DType::kF32);
  Variable forward(const Adjacency& adj, const Features& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  /// With edge features, options.edge_in > 0: f_e W_edge is added to k_j and v_j.
  ///   f [edges, edge_in] in adj's edge order
  /// Throws Error for another shape. The forms above throw Error if options.edge_in > 0.
  Variable forward(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;

 private:
  struct Map {
    Variable w, c;  // [in, n] "NAME.weight", PyG's transposed; [n] "NAME.bias", undefined without bias
  };
  /// q, k, v [nodes, heads, out] and r [nodes, width()], undefined without residual.
  struct Projections {
    Variable q, k, v, r;
  };
  /// x times each of `maps`, undefined where a map is. Those of the first one's shape are one product.
  std::vector<Variable> project(const Features& x, const std::vector<const Map*>& maps) const;
  Projections project(const Features& x) const;
  Projections project(const BipartiteFeatures& x) const;
  Variable attend(const Adjacency& adj, const Projections& x, const Variable& f, RandomKey key,
                  const EpilogueOptions& then) const;

  Map query_, key_, value_;  // [in_dst or in, heads * out]  "lin_query", "lin_key", "lin_value"
  Map skip_;                 // [in_dst, width()]            "lin_skip"; undefined without residual
  Variable w_edge_;          // [edge_in, heads * out]       "lin_edge.weight"; undefined without edge_in
  Variable w_beta_;          // [3 width(), 1]               "lin_beta.weight"; undefined without beta
};

extern const ConvKind kTransformer;

}  // namespace rodeo
