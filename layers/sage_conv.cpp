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
  root_ = std::make_unique<Linear>(options.in, options.out, random, /*bias=*/false, device, dtype);
  register_module("lin_r", root_.get());
}

Variable SageConv::forward(const Adjacency& adj, const Features& x, const SpmmOptions& spmm) const {
  check_node_features("sage_conv", adj, x, options_.in);
  // Both branches read x: a dropout that its products do not apply is computed once.
  const bool needs_dense = aggregates_first(x, neighbours_, options_.aggr);
  const Features in = needs_dense ? Features(x.dense()) : linear_input(x, neighbours_.weight());
  Variable y = aggregate_and_project(adj, {}, in, neighbours_, options_.aggr, spmm);
  if (root_) y = add(y, root_->forward(in));
  return options_.normalize ? l2_normalize(y) : y;
}

}  // namespace rodeo
