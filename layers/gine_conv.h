#pragma once

#include <memory>

#include "layers/gin_conv.h"

namespace rodeo {

/// Graph isomorphism operator with edge features (Hu et al., "Strategies for pre-training graph neural
/// networks", ICLR 2020; PyG's GINEConv):
///   y_i = nn((1 + eps) x_i + sum over the edges e = (i, j) of ReLU(x_j + f_e U + c))
///   x [nodes, in], f [edges, edge_in] in adj's edge order -> the shape that nn returns
/// Rows of adj are destinations; no self loops are added. An array [edges, in] is allocated.
/// Parameters: nn.*, "lin.weight" (U, PyG's transposed) and "lin.bias" (c); eps [1], a buffer unless
/// train_eps.
class GineConv : public GinUpdate {
 public:
  /// Throws Error if nn is null or a size is below 1.
  GineConv(std::unique_ptr<Sequential> nn, std::int64_t in, std::int64_t edge_in, Random& random,
           const GinConvOptions& options = {}, Device device = kCpu, DType dtype = DType::kF32);
  /// adj may also be a block of a mini-batch, as in GinConv.
  Variable forward(const Adjacency& adj, const Variable& x, const Variable& f) const;
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;

 private:
  Variable update(const ConvGraph& graph, const Variable& x) const;

  std::int64_t in_, edge_in_;
  std::unique_ptr<Linear> lin_;
};

}  // namespace rodeo
