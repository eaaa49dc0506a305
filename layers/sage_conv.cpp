#include "layers/sage_conv.h"

#include "layers/aggregate.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/sage_concat.h"

namespace rodeo {
namespace {

/// `bias` may be undefined.
Variable finish(Variable y, const Variable& bias, const EpilogueOptions& then) {
  const bool plain = then.activation == Activation::kNone && then.dropout == 0;
  return plain && !bias.defined() ? y : epilogue(std::move(y), bias, then);
}

}  // namespace

SageConv::SageConv(const SageConvOptions& options, Random& random, Device device, DType dtype)
    : options_(options), neighbours_(options.in, options.out, random, options.bias, device, dtype) {
  register_module("lin_l", &neighbours_);
  if (!options.root_weight) return;
  check(options.in_dst >= 0, "[sage_conv] in_dst must be >= 0, got ", options.in_dst);
  root_ = std::make_unique<Linear>(in_dst(), options.out, random, /*bias=*/false, device, dtype);
  register_module("lin_r", root_.get());
}

Variable SageConv::forward(const Adjacency& adj, const Features& x, const SpmmOptions& spmm,
                           const EpilogueOptions& then) const {
  check_block_features("sage_conv", adj, x, options_.in);
  check(in_dst() == options_.in, "[sage_conv] the layer has in ", options_.in, " and in_dst ", in_dst(),
        ": pass {x_src, x_dst}");
  const bool first = aggregates_first(x, neighbours_.weight(), options_.aggr),
             block = adj.rows() < adj.cols();
  // Not on a whole graph, whose memory is scarce: the product would keep a copy of x.
  if (first && block && root_) return combine_in_block(adj, x, spmm, then);
  // Both branches read x: a dropout that its products do not apply is computed once.
  const Features in = first || block ? Features(x.dense()) : linear_input(x, neighbours_.weight());
  return combine(adj, {in, block ? Features(rows(in.dense(), 0, adj.rows())) : in}, spmm, then);
}

Variable SageConv::forward(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm) const {
  check_bipartite_features("sage_conv", adj, x, options_.in, in_dst(), /*needs_dst=*/root_ != nullptr);
  return combine(adj, x, spmm, {});
}

Variable SageConv::combine_in_block(const Adjacency& adj, const Features& x, SpmmOptions spmm,
                                    const EpilogueOptions& then) const {
  spmm = with_reduction(spmm, options_.aggr);
  const Variable w = concat_rows(std::vector{neighbours_.weight(), root_->weight()});
  const PendingRows* const rows = x.pending_rows();
  const Variable both = rows ? sage_concat(adj, *rows, spmm) : sage_concat(adj, x.dense(), spmm);
  if (!options_.normalize) return linear(both, w, neighbours_.bias(), {.then = then});
  return finish(l2_normalize(linear(both, w, neighbours_.bias())), {}, then);
}

Variable SageConv::combine(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm,
                           const EpilogueOptions& then) const {
  Variable y = aggregate_and_project(adj, {}, x.src, neighbours_.weight(), options_.aggr, spmm);
  if (root_) y = add(y, root_->forward(x.dst));
  if (!options_.normalize) return finish(y, neighbours_.bias(), then);
  return finish(l2_normalize(finish(y, neighbours_.bias(), {})), {}, then);
}

Variable SageConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  if (!graph.selected.defined()) return forward(graph.adj, x, call.spmm, call.then);
  check_block_features("sage_conv", graph.adj, x, options_.in);
  const Features sources(x.dense());
  return combine(graph.adj, {sources, destinations(graph, sources)}, call.spmm, call.then);
}

bool SageConv::can_be_padded(const ConvGraph&, const SpmmOptions& spmm) const {
  return sums_without_plan(options_.aggr, spmm);
}

const ConvKind kSage{.name = "sage",
                     .traits = {.aggr = true},
                     .make = [](const ConvOptions& o, Random& random, Device device,
                                DType dtype) -> std::unique_ptr<Convolution> {
                       return std::make_unique<SageConv>(
                           SageConvOptions{.in = o.in, .out = o.out, .aggr = o.aggr, .bias = o.bias}, random,
                           device, dtype);
                     }};

}  // namespace rodeo
