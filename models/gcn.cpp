#include "models/gcn.h"

#include <utility>

#include "models/check_sizes.h"

namespace rodeo {

Gcn::Gcn(const GcnOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  check_sizes("gcn", options);
  for (int i = 0; i < options.layers; ++i) {
    const std::int64_t in = i == 0 ? options.in : options.hidden;
    const std::int64_t out = i + 1 == options.layers ? options.classes : options.hidden;
    convs_.push_back(std::make_unique<GcnConv>(in, out, random_, /*bias=*/true, device, dtype));
    register_module(str("conv", i + 1), convs_.back().get());
  }
}

Variable Gcn::forward(const GcnGraph& graph, const Features& x) {
  return run(graph, x, graph);
}

Variable Gcn::forward(const GcnGraph& graph, const Features& x, const GcnGraph& last) {
  check(convs_.size() >= 2, "[gcn] computing the last layer for selected rows needs at least two layers");
  return run(graph, x, last);
}

Variable Gcn::run(const GcnGraph& graph, const Features& x, const GcnGraph& last) {
  using Input = GcnConv::Fusion::Input;
  const double p = training() ? options_.dropout : 0, first = input_dropout();
  Features h = x;
  Input input = Input::kPlain;
  if (training() && first > 0) {
    // The op that writes the input of a layer also scales it: D^-1/2 H needs no separate pass.
    h = dropout(x, first, random_.next(), graph.scale);
    input = Input::kScaled;
  } else if (first == 0 && !x.is_sparse() && !x.requires_grad()) {
    h = Features(propagated(graph, x.dense().value()));
    input = Input::kPropagated;
  }
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    GcnConv::Fusion fusion{.input = i == 0 ? input : Input::kScaled};
    const bool is_last = i + 1 == convs_.size();
    if (!is_last) {
      fusion.epilogue = {.activation = Activation::kRelu, .dropout = p, .post_scale = graph.scale};
      if (p > 0) fusion.epilogue.key = random_.next();
    }
    h = convs_[i]->forward(is_last ? last : graph, std::move(h), options_.spmm, fusion);
  }
  return h.dense();
}

const Tensor& Gcn::propagated(const GcnGraph& graph, const Tensor& x) {
  if (!(propagated_.defined() && propagated_graph_ == graph.adj && propagated_x_.shares_memory_with(x))) {
    propagated_ = propagate(graph, x, options_.spmm);
    propagated_graph_ = graph.adj;
    propagated_x_ = x;
  }
  return propagated_;
}

}  // namespace rodeo
