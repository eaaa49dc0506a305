#pragma once

#include "layers/linear.h"
#include "ops/spmm.h"

namespace rodeo {

struct GraphConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Reduce aggr = Reduce::kSum;
  bool bias = true;
};

/// The graph operator of Morris et al., "Weisfeiler and Leman go neural" (AAAI 2019):
///   y_i = (reduce over the edges e = (i, j) of weight[e] x_j) W_rel + b + x_i W_root
/// x [nodes, in] -> [nodes, out]; weight [edges] in adj's edge order, undefined for ones. Rows of adj are
/// destinations; no self loops are added. Initial weights are those of Linear. Parameters: lin_rel.weight,
/// lin_rel.bias, lin_root.weight.
class GraphConv : public Module {
 public:
  GraphConv(const GraphConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  /// Sum and mean run before or after the matrix product, whichever is narrower. spmm.reduce is ignored.
  Variable forward(const Adjacency& adj, const Variable& weight, const Variable& x,
                   const SpmmOptions& spmm = {}) const;

 private:
  GraphConvOptions options_;
  Linear rel_, root_;  // "lin_rel", "lin_root"
};

}  // namespace rodeo
