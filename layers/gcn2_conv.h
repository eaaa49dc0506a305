#pragma once

#include "layers/convolution.h"

namespace rodeo {

/// GCNII (Chen et al., "Simple and deep graph convolutional networks", ICML 2020):
///   h = (1 - alpha) S x + alpha x_0,   y = (1 - beta) h + beta h W,   S = D^-1/2 (A + I) D^-1/2.
/// x, x_0 [sources, n] -> [destinations, n]. x_0 is ConvCall::initial, the input of a model's first layer;
/// undefined: x. Dense x only. Initial weights: Glorot and Bengio. Parameter: weight1 [n, n].
class Gcn2Conv : public Convolution {
 public:
  /// Throws Error unless alpha and beta are in [0, 1].
  Gcn2Conv(std::int64_t n, double alpha, double beta, Random& random, Device device = kCpu,
           DType dtype = DType::kF32);
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return w_.dim(0); }

 private:
  double alpha_, beta_;
  Variable w_;  // [n, n]  "weight1"
};

/// beta = log(lambda / l + 1) in layer l = 1, 2, ...
extern const ConvKind kGcn2;

}  // namespace rodeo
