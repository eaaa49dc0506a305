#pragma once

#include "layers/attention_conv.h"

namespace rodeo {

/// Scaled dot-product attention over the edges of a graph (Vaswani et al., "Attention is all you need",
/// NeurIPS 2017; on graphs, Shi et al., "Masked label prediction", IJCAI 2021), for each head:
///   e_ij = (x_i W_query) . (x_j W_key) / sqrt(out),   y_i = sum over j of softmax_j(e_ij) x_j W_value
/// See layers/attention_conv.h for adj, x, key and `then`. The scores are an SDDMM
/// (ops/sddmm.h), which allocates [edges, heads]. options.negative_slope is ignored. On a
/// bipartite graph the query is of x_dst, key and value are of x_src.
class DotGatConv : public AttentionConv {
 public:
  DotGatConv(const AttentionConvOptions& options, Random& random, Device device = kCpu,
             DType dtype = DType::kF32);
  Variable forward(const Adjacency& adj, const Variable& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;

 private:
  /// Inputs are checked.
  Variable attend(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                  const EpilogueOptions& then) const;

  Variable w_query_;          // [in_dst or in, heads * out]  "lin_query.weight", PyG's transposed
  Variable w_key_, w_value_;  // [in, heads * out]            "lin_key.weight", "lin_value.weight"
};

}  // namespace rodeo
