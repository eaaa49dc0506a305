#pragma once

#include "layers/aggregate.h"
#include "layers/convolution.h"

namespace rodeo {

struct SgConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  int hops = 1;         // K
  bool cached = false;  // caches S^K X; see forward
  bool bias = true;
};

/// Simple graph convolution (Wu et al., "Simplifying graph convolutional networks", ICML 2019):
///   Y = S^K X W + b,   S = D^-1/2 (A + I) D^-1/2.
/// x [nodes, in] -> [nodes, out]. Initial weights are those of Linear. Parameters: lin.weight, lin.bias.
class SgConv : public Convolution {
 public:
  SgConv(const SgConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  /// With options.cached, S^K X is computed once if x is dense and requires no gradient. The cache is keyed
  /// by the graph and the memory of x, which must not be modified. Otherwise S is applied before or after W,
  /// whichever is narrower; after it if x is sparse. spmm.reduce is ignored.
  Variable forward(const GcnGraph& graph, const Features& x, SpmmOptions spmm = {}) const;
  /// On a whole graph or selected rows of one. Throws Error for a block.
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return options_.out; }

 private:
  SgConvOptions options_;
  Linear lin_;                                 // "lin"
  mutable KeptProduct propagated_, selected_;  // S^K X, and selected rows of it
};

extern const ConvKind kSgc;

}  // namespace rodeo
