#pragma once

#include "layers/hetero_conv.h"

namespace rodeo {

/// Graph attention by relation, summed, with a residual projection: the R-GAT of MLPerf, PyG's HeteroConv of
/// GATConv. For each relation r, head by head:
///   z = x W_r,   e_ij = LeakyReLU(a_dst,r . z_i + a_src,r . z_j),
///   y_i = x_i W_t + b_t + sum over r of the sum over the edges j -> i of r of softmax_j(e_ij) z_j
/// where t is the type of i and the softmax is over the edges of i in r. Scores of destinations are computed
/// from x (W_r a_dst,r), so that no destination is projected. The attention of all relations is one operator
/// (ops/attention.h) on HeteroGraph::relation_blocks(). Glorot weights, zero biases.
class RgatConv : public HeteroConvolution {
 public:
  RgatConv(const HeteroConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  Variable forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const override;

 private:
  /// W_r a_r of each relation: [relations, in, heads].
  Variable score_weights(const Variable& a) const;

  Variable w_;              // [relations, in, out]              "weight"
  Variable a_dst_, a_src_;  // [relations, heads, out / heads]   "att_dst", "att_src"
  Variable root_;           // [types, in, out]  "root"; undefined without root_weight
  Variable b_;              // [types, out]      "bias"; undefined without root_weight or bias
};

extern const HeteroConvKind kRgat;

}  // namespace rodeo
