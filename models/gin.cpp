#include "models/gin.h"

#include <utility>

#include "layers/norm.h"
#include "models/check_sizes.h"
#include "ops/dense.h"

namespace rodeo {

Gin::Gin(const GinOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  check_sizes("gin", options);
  const Sequential::Step rectify = [](const Variable& x) { return relu(x); };
  for (int i = 0; i < options.layers; ++i) {
    auto nn = std::make_unique<Sequential>();
    nn->add(std::make_unique<Linear>(i == 0 ? options.in : options.hidden, options.hidden, random_, true,
                                     device, dtype))
        .add(std::make_unique<BatchNorm>(options.hidden, BatchNormLayerOptions(), device, dtype))
        .add(rectify)
        .add(std::make_unique<Linear>(options.hidden, options.hidden, random_, true, device, dtype))
        .add(rectify);
    if (options.edge_in > 0) {
      edge_convs_.push_back(
          std::make_unique<GineConv>(std::move(nn), i == 0 ? options.in : options.hidden, options.edge_in,
                                     random_, GinConvOptions{.train_eps = options.train_eps}, device, dtype));
      register_module(str("conv", i + 1), edge_convs_.back().get());
      continue;
    }
    convs_.push_back(std::make_unique<GinConv>(std::move(nn), GinConvOptions{.train_eps = options.train_eps},
                                               device, dtype));
    register_module(str("conv", i + 1), convs_.back().get());
  }
  classifier_ = std::make_unique<Linear>(options.hidden, options.classes, random_, true, device, dtype);
  register_module("lin", classifier_.get());
}

Variable Gin::forward(const Adjacency& adj, const Features& x, const Variable& f) {
  check(f.defined() == (options_.edge_in > 0), "[gin] edge features f are ",
        f.defined() ? "given" : "undefined", ", the model has edge_in ", options_.edge_in);
  Features h = x;
  double p = options_.input_dropout.value_or(options_.dropout);
  const auto dropped = [&](const Features& v) {
    const double now = std::exchange(p, options_.dropout);
    return training() ? dropout(v, now, random_.next()) : v;
  };
  for (const auto& conv : convs_) h = conv->forward(adj, dropped(h), options_.spmm);
  for (const auto& conv : edge_convs_) h = conv->forward(adj, dropped(h).dense(), f);
  return classifier_->forward(dropped(h));
}

}  // namespace rodeo
