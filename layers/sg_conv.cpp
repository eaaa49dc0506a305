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
  return convolve(graph, x, {.spmm = spmm});
}

Variable SgConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  check(!graph.is_block, "[sg_conv] several hops cannot read the block of one layer");
  const ConvGraph& whole = graph.whole ? *graph.whole : graph;
  check_node_features("sg_conv", whole.adj, x, options_.in);
  SpmmOptions spmm = call.spmm;
  spmm.reduce = Reduce::kSum;
  const auto propagate_all = [&](Variable h, const ConvGraph& last) {
    for (int hop = 0; hop < options_.hops; ++hop)
      h = propagate(hop + 1 == options_.hops ? last : whole, h, spmm);
    return h;
  };
  const bool keeps = options_.cached && !x.is_sparse() && !x.requires_grad();
  if (x.is_sparse() || (!keeps && options_.in > options_.out)) {
    const Variable y = propagate_all(matmul(x, lin_.weight()), graph);
    return apply(lin_.bias().defined() ? add_bias(y, lin_.bias()) : y, call.then);
  }
  const Variable dense = x.dense();
  if (!keeps) return apply(lin_.forward(propagate_all(dense, graph)), call.then);
  Tensor kept = propagated_.get(whole.adj, dense.value(),
                                [&](const Tensor& h) { return propagate_all(Variable(h), whole).value(); });
  if (graph.whole)
    kept = selected_.get(graph.adj, kept,
                         [&](const Tensor& h) { return destinations(graph, Features(h)).dense().value(); });
  return apply(lin_.forward(Variable(kept)), call.then);
}

const ConvKind kSgc{
    .name = "sgc",
    .traits = {.graph = GraphInput::kGcnNorm, .hops = true},
    .make = [](const ConvOptions& o, Random& random, Device device,
               DType dtype) -> std::unique_ptr<Convolution> {
      return std::make_unique<SgConv>(
          SgConvOptions{.in = o.in, .out = o.out, .hops = o.hops, .cached = true, .bias = o.bias}, random,
          device, dtype);
    }};

}  // namespace rodeo
