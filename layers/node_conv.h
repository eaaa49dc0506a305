#pragma once

#include "layers/convolution.h"
#include "layers/linear.h"

namespace rodeo {

/// A layer that reads no edges:  y_i = x_i W + b. Models of it are multilayer perceptrons on the features of
/// nodes, the control that shows what a graph adds.   x [sources, in] -> [destinations, out]
/// Initial weights are those of Linear. Parameters: lin.weight, lin.bias.
class NodeConv : public Convolution {
 public:
  NodeConv(std::int64_t in, std::int64_t out, Random& random, bool bias = true, Device device = kCpu,
           DType dtype = DType::kF32);
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return linear_.weight().dim(1); }
  bool can_be_padded(const ConvGraph&, const SpmmOptions&) const override { return true; }

 private:
  Linear linear_;  // "lin"
};

extern const ConvKind kMlp;

}  // namespace rodeo
