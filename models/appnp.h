#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/appnp.h"
#include "layers/linear.h"

namespace rodeo {

struct AppnpModelOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 64;
  std::int64_t classes = 0;
  int layers = 2;                            // of the multilayer perceptron
  double dropout = 0.5;                      // of the input of every layer
  std::optional<double> input_dropout = {};  // of x; default: dropout
  int hops = 10;
  double alpha = 0.1;
  double edge_dropout = 0;
  SpmmOptions spmm = {};
};

/// The APPNP of Klicpera et al. (ICLR 2019): dropout, linear, ReLU, ... , dropout, linear, propagation.
/// Returns logits.
class AppnpModel : public Module {
 public:
  /// Throws Error for sizes below 1 and options that Appnp rejects. `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  AppnpModel(const AppnpModelOptions& options, Random random, Device device = kCpu,
             DType dtype = DType::kF32);

  /// x [nodes, in] -> logits [nodes, classes].
  Variable forward(const GcnGraph& graph, const Features& x);

  /// The parameters of the first linear layer. The published weight decay applies only to these.
  std::vector<Variable> first_layer_parameters() const { return layers_.front()->parameters(); }

 private:
  AppnpModelOptions options_;
  Random random_;
  std::vector<std::unique_ptr<Linear>> layers_;  // "lin1", "lin2", ...
  Appnp propagation_;
};

}  // namespace rodeo
