#pragma once

#include <memory>

#include "layers/linear.h"
#include "ops/spmm.h"

namespace rodeo {

struct SageConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Reduce aggr = Reduce::kMean;
  bool normalize = false;   // scales rows of the result to unit length
  bool root_weight = true;  // the term x W_r
  bool bias = true;
};

/// GraphSAGE (Hamilton, Ying, Leskovec, "Inductive representation learning on large graphs", NIPS 2017):
///   y_i = (reduce over the neighbours j of x_j) W_l + b + x_i W_r
/// x [nodes, in] -> [nodes, out]. Rows of adj are destinations; no self loops are added.
/// Initial weights are those of Linear. Parameters: lin_l.weight, lin_l.bias, lin_r.weight.
class SageConv : public Module {
 public:
  SageConv(const SageConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  /// Sum and mean run before or after the matrix product, whichever is narrower. Sparse x only with these.
  /// spmm.reduce is ignored.
  Variable forward(const Adjacency& adj, const Features& x, const SpmmOptions& spmm = {}) const;

 private:
  SageConvOptions options_;
  Linear neighbours_;             // "lin_l"
  std::unique_ptr<Linear> root_;  // "lin_r"; null without root_weight
};

}  // namespace rodeo
