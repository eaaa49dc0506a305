#include "layers/sg_conv.h"

#include "layers/aggregate.h"
#include "ops/dense.h"

namespace rodeo {

SgConv::SgConv(const SgConvOptions& options, Random& random, Device device, DType dtype)
    : options_(options), lin_(options.in, options.out, random, options.bias, device, dtype) {
  check(options.hops >= 1, "[sg_conv] hops must be >= 1, got ", options.hops);
  register_module("lin", &lin_);
}

Variable SgConv::forward(const GcnGraph& graph, const Variable& x, SpmmOptions spmm) const {
  check_node_features("sg_conv", graph.adj, x, options_.in);
  spmm.reduce = Reduce::kSum;
  const auto propagated = [&](Variable h) {
    for (int hop = 0; hop < options_.hops; ++hop) h = propagate(graph, h, spmm);
    return h;
  };
  if (options_.cached && !x.requires_grad()) {
    if (!(kept_.defined() && kept_graph_ == graph.adj && kept_x_.shares_memory_with(x.value()))) {
      kept_ = propagated(x).value();
      kept_graph_ = graph.adj;
      kept_x_ = x.value();
    }
    return lin_.forward(Variable(kept_));
  }
  if (options_.in <= options_.out) return lin_.forward(propagated(x));
  const Variable y = propagated(matmul(x, lin_.weight()));
  return lin_.bias().defined() ? add_bias(y, lin_.bias()) : y;
}

}  // namespace rodeo
