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
  std::optional<double> input_dropout = {};  // of x; default: dropout
  SpmmOptions spmm = {};
};

/// The GCN of Kipf & Welling (ICLR 2017): dropout, convolution, ReLU, ... , dropout, convolution. Returns
/// logits.
class Gcn : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  Gcn(const GcnOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in], dense or sparse -> logits [nodes, classes].
  /// If input_dropout is 0, and x is dense and requires no gradient, D^-1/2 (A + I) D^-1/2 X is computed once
  /// and cached: the first layer is then only a matrix product. The cache is keyed by the graph and the
  /// memory of x, which must not be modified. Results are equal up to rounding.
  Variable forward(const GcnGraph& graph, const Features& x);
  /// Computes only the rows of `last`, which is select_rows(graph, rows): [k, classes]. Equal up to rounding.
  /// The last layer and its gradient are computed for these rows only. Throws Error for a single layer.
  Variable forward(const GcnGraph& graph, const Features& x, const GcnGraph& last);

  /// The parameters of the first convolution. The published weight decay applies only to these.
  std::vector<Variable> first_layer_parameters() const { return convs_.front()->parameters(); }

 private:
  double input_dropout() const { return options_.input_dropout.value_or(options_.dropout); }
  Variable run(const GcnGraph& graph, const Features& x, const GcnGraph& last);
  const Tensor& propagated(const GcnGraph& graph, const Tensor& x);

  GcnOptions options_;
  Random random_;
  std::vector<std::unique_ptr<GcnConv>> convs_;  // "conv1", "conv2", ...
  // The cached product D^-1/2 (A + I) D^-1/2 X, and the graph and X that it is of.
  Tensor propagated_, propagated_x_;
  Adjacency propagated_graph_;
};

}  // namespace rodeo
