#pragma once

#include <memory>

#include "layers/sequential.h"
#include "ops/spmm.h"

namespace rodeo {

struct GinConvOptions {
  double eps = 0;  // its initial value where it is learned
  bool train_eps = false;
};

/// Graph isomorphism operator (Xu, Hu, Leskovec, Jegelka, "How powerful are graph neural networks?",
/// ICLR 2019):  y_i = nn((1 + eps) x_i + sum over the neighbours j of x_j).
/// x [nodes, n] -> what nn makes of it. Rows of adj are destinations; adj is used as it is, without self
/// loops. Parameters: nn.*, and eps [1], a buffer unless it is learned.
class GinConv : public Module {
 public:
  /// Throws Error without nn.
  explicit GinConv(std::unique_ptr<Sequential> nn, const GinConvOptions& options = {}, Device device = kCpu,
                   DType dtype = DType::kF32);
  /// spmm.reduce is not looked at.
  Variable forward(const Adjacency& adj, const Variable& x, SpmmOptions spmm = {}) const;

 private:
  GinConvOptions options_;
  std::unique_ptr<Sequential> nn_;
  Variable learned_eps_;  // [1]  "eps"; undefined unless it is learned
  Tensor fixed_eps_;      // [1]  "eps"; undefined if it is
};

}  // namespace rodeo
