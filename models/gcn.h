#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/gcn_conv.h"

namespace rodeo {

struct GcnOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;
  std::int64_t classes = 0;
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of x; not given: dropout
  SpmmOptions spmm = {};
};

/// The GCN of Kipf & Welling: dropout, convolution, ReLU, ... , dropout, convolution. Returns logits.
class Gcn : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` gives the weights now and the
  /// dropout masks later: it is copied.
  Gcn(const GcnOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in], dense or sparse -> logits [nodes, classes].
  /// Where no dropout stands before the first convolution (input_dropout = 0), and x is dense and needs no
  /// gradient, D^-1/2 (A + I) D^-1/2 X is computed once for the same graph and the same memory of x, which
  /// must not be written to in between: the first layer is a matrix product then. Equal but for rounding.
  Variable forward(const GcnGraph& graph, const Features& x);
  /// The rows of that which `last`, select_rows(graph, rows), has: [k, classes]. The same numbers but for
  /// rounding; the last layer's sums and products, and their gradients, take no more than these rows need.
  /// Throws Error for a single layer.
  Variable forward(const GcnGraph& graph, const Features& x, const GcnGraph& last);

  /// The parameters of the first convolution: the published weight decay applies to these alone.
  std::vector<Variable> first_layer_parameters() const { return convs_.front()->parameters(); }

 private:
  double input_dropout() const { return options_.input_dropout.value_or(options_.dropout); }
  Variable run(const GcnGraph& graph, const Features& x, const GcnGraph& last);
  const Tensor& propagated(const GcnGraph& graph, const Tensor& x);

  GcnOptions options_;
  Random random_;
  std::vector<std::unique_ptr<GcnConv>> convs_;  // "conv1", "conv2", ...
  Adjacency kept_graph_;
  Tensor kept_x_, kept_;  // X, and D^-1/2 (A + I) D^-1/2 X
};

}  // namespace rodeo
