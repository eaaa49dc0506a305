#include "models/appnp.h"

#include "models/check_sizes.h"
#include "ops/dense.h"

namespace rodeo {

AppnpModel::AppnpModel(const AppnpModelOptions& options, Random random, Device device, DType dtype)
    : options_(options),
      random_(random),
      propagation_({.hops = options.hops, .alpha = options.alpha, .dropout = options.edge_dropout}) {
  check_sizes("appnp", options);
  for (int i = 0; i < options.layers; ++i) {
    layers_.push_back(std::make_unique<Linear>(i == 0 ? options.in : options.hidden,
                                               i + 1 == options.layers ? options.classes : options.hidden,
                                               random_, true, device, dtype));
    register_module(str("lin", i + 1), layers_.back().get());
  }
  register_module("prop", &propagation_);
}

Variable AppnpModel::forward(const GcnGraph& graph, const Features& x) {
  Features h = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0) h = relu(h.dense());
    const double p = i == 0 ? options_.input_dropout.value_or(options_.dropout) : options_.dropout;
    if (training()) h = dropout(h, p, random_.next());
    h = layers_[i]->forward(h);
  }
  return propagation_.forward(graph, h.dense(), random_.next(), options_.spmm);
}

}  // namespace rodeo
