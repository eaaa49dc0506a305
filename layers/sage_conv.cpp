#include "layers/sage_conv.h"

#include "layers/aggregate.h"
#include "ops/dense.h"
#include "ops/linear.h"
#include "ops/norm.h"

namespace rodeo {

SageConv::SageConv(const SageConvOptions& options, Random& random, Device device, DType dtype)
    : options_(options), neighbours_(options.in, options.out, random, options.bias, device, dtype) {
  register_module("lin_l", &neighbours_);
  if (!options.root_weight) return;
  check(options.in_dst >= 0, "[sage_conv] in_dst must be >= 0, got ", options.in_dst);
  root_ = std::make_unique<Linear>(in_dst(), options.out, random, /*bias=*/false, device, dtype);
  register_module("lin_r", root_.get());
}

Variable SageConv::forward(const Adjacency& adj, const Features& x, const SpmmOptions& spmm) const {
  check_node_features("sage_conv", adj, x, options_.in);
  check(in_dst() == options_.in, "[sage_conv] the layer has in ", options_.in, " and in_dst ", in_dst(),
        ": pass {x_src, x_dst}");
  // Both branches read x: a dropout that its products do not apply is computed once.
  const bool needs_dense = aggregates_first(x, neighbours_, options_.aggr);
  const Features in = needs_dense ? Features(x.dense()) : linear_input(x, neighbours_.weight());
  return combine(adj, {in, in}, spmm);
}

Variable SageConv::forward(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm) const {
  check_bipartite_features("sage_conv", adj, x, options_.in, in_dst(), /*needs_dst=*/root_ != nullptr);
  return combine(adj, x, spmm);
}

Variable SageConv::combine(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm) const {
  Variable y = aggregate_and_project(adj, {}, x.src, neighbours_, options_.aggr, spmm);
  if (root_) y = add(y, root_->forward(x.dst));
  return options_.normalize ? l2_normalize(y) : y;
}

}  // namespace rodeo
