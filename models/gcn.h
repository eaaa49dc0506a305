#pragma once

#include <memory>
#include <vector>

#include "layers/gcn_conv.h"

namespace rodeo {

struct GcnOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;
  std::int64_t classes = 0;
  int layers = 2;
  double dropout = 0.5;
  SpmmOptions spmm = {};
};

/// The GCN of Kipf & Welling: dropout, convolution, ReLU, ... , dropout, convolution. Returns logits.
class Gcn : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` gives the weights now and the
  /// dropout masks later: it is copied.
  Gcn(const GcnOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in] -> logits [nodes, classes].
  Variable forward(const GcnGraph& graph, const Variable& x);

  /// The parameters of the first convolution: the published weight decay applies to these alone.
  std::vector<Variable> first_layer_parameters() const { return convs_.front()->parameters(); }

 private:
  GcnOptions options_;
  Random random_;
  std::vector<std::unique_ptr<GcnConv>> convs_;  // "conv1", "conv2", ...
};

}  // namespace rodeo
