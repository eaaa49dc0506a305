#include "layers/graph_conv.h"

#include "layers/aggregate.h"
#include "ops/dense.h"

namespace rodeo {

GraphConv::GraphConv(const GraphConvOptions& options, Random& random, Device device, DType dtype)
    : options_(options),
      rel_(options.in, options.out, random, options.bias, device, dtype),
      root_(options.in, options.out, random, /*bias=*/false, device, dtype) {
  register_module("lin_rel", &rel_);
  register_module("lin_root", &root_);
}

Variable GraphConv::forward(const Adjacency& adj, const Variable& weight, const Variable& x,
                            const SpmmOptions& spmm) const {
  check_node_features("graph_conv", adj, x, options_.in);
  const Variable y =
      add(aggregate_and_project(adj, weight, x, rel_.weight(), options_.aggr, spmm), root_.forward(x));
  return rel_.bias().defined() ? add_bias(y, rel_.bias()) : y;
}

}  // namespace rodeo
