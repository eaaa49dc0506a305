#pragma once

#include "layers/linear.h"
#include "ops/gcn_norm.h"

namespace rodeo {

struct SgConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  int hops = 1;         // K
  bool cached = false;  // keep S^K X of the first x that needs no gradient: see forward
  bool bias = true;
};

/// Simple graph convolution (Wu et al., "Simplifying graph convolutional networks", ICML 2019):
///   Y = S^K X W + b,   S = D^-1/2 (A + I) D^-1/2.
/// x [nodes, in] -> [nodes, out]. Initial weights are those of Linear. Parameters: lin.weight, lin.bias.
class SgConv : public Module {
 public:
  SgConv(const SgConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  /// When cached, S^K X is computed once for the same graph and the same memory of x, for as long as x needs
  /// no gradient: x must not be written to in between. Otherwise the products run on the narrower side.
  /// spmm.reduce is not looked at.
  Variable forward(const GcnGraph& graph, const Variable& x, SpmmOptions spmm = {}) const;

 private:
  SgConvOptions options_;
  Linear lin_;  // "lin"
  mutable Adjacency kept_graph_;
  mutable Tensor kept_x_, kept_;
};

}  // namespace rodeo
