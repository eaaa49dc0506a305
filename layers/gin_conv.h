#pragma once

#include <memory>

#include "layers/convolution.h"
#include "layers/sequential.h"
#include "ops/spmm.h"

namespace rodeo {

struct GinConvOptions {
  double eps = 0;  // the initial value if train_eps
  bool train_eps = false;
};

/// What GinConv and GineConv have in common: the network nn, and eps.
class GinUpdate : public Convolution {
 public:
  /// Columns of the last Linear layer of nn; 0 without one.
  std::int64_t width() const override;

 protected:
  /// Registers eps, then nn. `layer` begins error messages. Throws Error if nn is null.
  GinUpdate(const char* layer, std::unique_ptr<Sequential> nn, const GinConvOptions& options, Device device,
            DType dtype);
  /// (1 + eps) x + sum
  Variable add_own(const Variable& x, const Variable& sum) const;
  const Sequential& nn() const { return *nn_; }

 private:
  std::unique_ptr<Sequential> nn_;
  Variable learned_eps_;  // [1]  "eps"; undefined unless train_eps
  Tensor fixed_eps_;      // [1]  "eps"; undefined if train_eps
};

/// Graph isomorphism operator (Xu, Hu, Leskovec, Jegelka, "How powerful are graph neural networks?",
/// ICLR 2019):  y_i = nn((1 + eps) x_i + sum over the neighbours j of x_j).
/// x [nodes, n] -> the shape that nn returns. Rows of adj are destinations; no self loops are added.
/// Parameters: nn.*, and eps [1], which is a buffer unless train_eps.
class GinConv : public GinUpdate {
 public:
  /// Throws Error if nn is null.
  explicit GinConv(std::unique_ptr<Sequential> nn, const GinConvOptions& options = {}, Device device = kCpu,
                   DType dtype = DType::kF32);
  /// If nn begins with a Linear layer, its product runs before or after the sum, whichever is narrower.
  /// Sparse x only with such an nn. spmm.reduce is ignored.
  /// adj may also be a block of a mini-batch [n_dst, n_src] whose first n_dst sources are its destinations:
  /// x [n_src, n] -> [n_dst, ...].
  Variable forward(const Adjacency& adj, const Features& x, SpmmOptions spmm = {}) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;

 private:
  Variable update(const ConvGraph& graph, const Features& x, SpmmOptions spmm) const;
};

/// The network of a model's layers: Linear, BatchNorm, ReLU, Linear and, with ends_with_relu, ReLU.
std::unique_ptr<Sequential> gin_network(const ConvOptions& options, Random& random, Device device,
                                        DType dtype);

/// GinConv, or GineConv (layers/gine_conv.h) where edge_in > 0.
extern const ConvKind kGin;

}  // namespace rodeo
