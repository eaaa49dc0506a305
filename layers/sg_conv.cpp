#include "layers/sg_conv.h"

#include "layers/aggregate.h"
#include "ops/dense.h"

namespace rodeo {

SgConv::SgConv(const SgConvOptions& options, Random& random, Device device, DType dtype)
    : options_(options), lin_(options.in, options.out, random, options.bias, device, dtype) {
  check(options.hops >= 1, "[sg_conv] hops must be >= 1, got ", options.hops);
  register_module("lin", &lin_);
}

Variable SgConv::forward(const GcnGraph& graph, const Features& x, SpmmOptions spmm) const {
  check_node_features("sg_conv", graph.adj, x, options_.in);
  spmm.reduce = Reduce::kSum;
  const auto propagate_all = [&](Variable h) {
    for (int hop = 0; hop < options_.hops; ++hop) h = propagate(graph, h, spmm);
    return h;
  };
  const bool keeps = options_.cached && !x.is_sparse() && !x.requires_grad();
  if (x.is_sparse() || (!keeps && options_.in > options_.out)) {
    const Variable y = propagate_all(matmul(x, lin_.weight()));
    return lin_.bias().defined() ? add_bias(y, lin_.bias()) : y;
  }
  const Variable dense = x.dense();
  if (!keeps) return lin_.forward(propagate_all(dense));
  if (!(propagated_.defined() && propagated_graph_ == graph.adj &&
        propagated_x_.shares_memory_with(dense.value()))) {
    propagated_ = propagate_all(dense).value();
    propagated_graph_ = graph.adj;
    propagated_x_ = dense.value();
  }
  return lin_.forward(Variable(propagated_));
}

}  // namespace rodeo
