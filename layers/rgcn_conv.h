#pragma once

#include "layers/hetero_conv.h"

namespace rodeo {

/// Relational graph convolution (Schlichtkrull et al., "Modeling relational data with graph convolutional
/// networks", ESWC 2018):
///   y_i = x_i W_root + b + sum over relations r of the mean over the edges j -> i of r of x_j W_r
/// One sparse product and one grouped product (ops/relational.h). With `bases`, W_r = sum over b of comp[r,
/// b] weight[b]; with `blocks`, W_r is block-diagonal. Parameters and shapes are those of PyG's RGCNConv.
/// Glorot weights, zero bias. Throws Error where both bases and blocks are set, or blocks do not divide in
/// and out.
class RgcnConv : public HeteroConvolution {
 public:
  RgcnConv(const HeteroConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  Variable forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const override;

 private:
  /// [relations, in, out], or by blocks.
  Variable relation_weights() const;

  Variable w_;     // [relations, in, out], [bases, in, out] or [relations, blocks, in / blocks, out / blocks]
                   //   "weight"
  Variable comp_;  // [relations, bases]  "comp"; undefined without bases
  Variable root_;  // [in, out]           "root"; undefined without root_weight
  Variable b_;     // [out]               "bias"; undefined without bias
};

/// GraphSAGE by relation, summed: PyG's HeteroConv of SAGEConv, whose weights of the destination are added.
///   y_i = x_i W_t + b_t + sum over relations r of the mean over the edges j -> i of r of x_j W_r
/// where t is the type of i. Same cost as RgcnConv.
class HeteroSageConv : public HeteroConvolution {
 public:
  HeteroSageConv(const HeteroConvOptions& options, Random& random, Device device = kCpu,
                 DType dtype = DType::kF32);
  Variable forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const override;

 private:
  Variable w_;     // [relations, in, out]  "weight"
  Variable root_;  // [types, in, out]      "root"; undefined without root_weight
  Variable b_;     // [types, out]          "bias"; undefined without root_weight or bias
};

extern const HeteroConvKind kRgcn, kHeteroSage;

}  // namespace rodeo
