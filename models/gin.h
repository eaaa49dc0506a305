#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/linear.h"

namespace rodeo {

struct GinOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;
  std::int64_t classes = 0;
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of x; default: dropout
  bool train_eps = false;
  std::int64_t edge_in = 0;  // columns of edge features: convolutions are GineConv then; 0: none
  SpmmOptions spmm = {};
};

/// A graph isomorphism network (Xu et al., ICLR 2019) for node classification. Convolutions with the network
/// Linear, BatchNorm, ReLU, Linear, ReLU, as in the paper's graph classifier, then a linear layer. Dropout
/// before each of these. Returns logits.
class Gin : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  Gin(const GinOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in] -> logits [nodes, classes]. adj without self loops. Training mode needs at least 2 nodes.
  Variable forward(const Adjacency& adj, const Features& x) { return forward(adj, x, {}); }
  /// With edge features f [edges, edge_in] in adj's edge order; undefined without edge_in. x is dense then.
  Variable forward(const Adjacency& adj, const Features& x, const Variable& f);

 private:
  GinOptions options_;
  Random random_;
  std::vector<std::unique_ptr<GinConv>> convs_;        // "conv1", "conv2", ...
  std::vector<std::unique_ptr<GineConv>> edge_convs_;  // instead of convs_ with edge_in
  std::unique_ptr<Linear> classifier_;                 // "lin"
};

}  // namespace rodeo
