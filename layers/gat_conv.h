#pragma once

#include "layers/attention_conv.h"

namespace rodeo {

/// Graph attention (Velickovic et al., "Graph attention networks", ICLR 2018), for each head:
///   z = x W,   e_ij = LeakyReLU(a_dst . z_i + a_src . z_j),   y_i = sum over j of softmax_j(e_ij) z_j
/// See layers/attention_conv.h for adj, x, key and `then`. Allocates no array [edges, ...]
/// unless options.form is kComposed.
/// On a bipartite graph z_i = x_dst,i W_dst and z_j = x_src,j W_src. Both are W unless options.in_dst is set.
class GatConv : public AttentionConv {
 public:
  GatConv(const AttentionConvOptions& options, Random& random, Device device = kCpu,
          DType dtype = DType::kF32);
  Variable forward(const Adjacency& adj, const Features& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                   const EpilogueOptions& then = {}) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  bool can_be_padded(const ConvGraph& whole, const SpmmOptions& spmm) const override;

 private:
  Variable w_;              // [in, heads * out]  "lin.weight", or "lin_src.weight"; PyG's transposed
  Variable w_dst_;          // [in_dst, heads * out]  "lin_dst.weight"; undefined without in_dst
  Variable a_dst_, a_src_;  // [heads, out]  "att_dst", "att_src", PyG's [1, heads, out]
};

extern const ConvKind kGat;

}  // namespace rodeo
