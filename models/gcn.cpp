#include "models/gcn.h"

#include "ops/dense.h"

namespace rodeo {

Gcn::Gcn(const GcnOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  check(options.in >= 1 && options.hidden >= 1 && options.classes >= 1 && options.layers >= 1,
        "[gcn] in, hidden, classes and layers must be >= 1, got ", options.in, ", ", options.hidden, ", ",
        options.classes, " and ", options.layers);
  check(options.dropout >= 0 && options.dropout < 1, "[gcn] dropout must be in [0, 1), got ",
        options.dropout);
  for (int i = 0; i < options.layers; ++i) {
    const std::int64_t in = i == 0 ? options.in : options.hidden;
    const std::int64_t out = i + 1 == options.layers ? options.classes : options.hidden;
    convs_.push_back(std::make_unique<GcnConv>(in, out, random_, /*bias=*/true, device, dtype));
    register_module(str("conv", i + 1), convs_.back().get());
  }
}

Variable Gcn::forward(const GcnGraph& graph, const Variable& x) {
  const double p = training() ? options_.dropout : 0;
  // Whatever writes a layer's input scales it as well: D^-1/2 H costs no pass of its own.
  Variable h = x;
  if (p > 0) h = epilogue(h, {}, {.dropout = p, .key = random_.next(), .after = graph.scale});
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    GcnConv::Link link{.scaled_input = i > 0 || p > 0};
    if (i + 1 < convs_.size()) {
      link.then = {.activation = Activation::kRelu, .dropout = p, .after = graph.scale};
      if (p > 0) link.then.key = random_.next();
    }
    h = convs_[i]->forward(graph, h, options_.spmm, link);
  }
  return h;
}

}  // namespace rodeo
