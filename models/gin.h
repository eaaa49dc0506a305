#pragma once

#include <optional>

#include "layers/gine_conv.h"
#include "models/published.h"

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

inline constexpr TrunkPreset kPublishedGin{.name = "gin", .parts = {.post_linear = true}};

/// A graph isomorphism network (Xu et al., ICLR 2019) for node classification. Convolutions with the network
/// Linear, BatchNorm, ReLU, Linear, ReLU, as in the paper's graph classifier, then a linear layer. Dropout
/// before each of these. Returns logits. The graph is without self loops; with edge_in it has edge features:
/// forward(ConvGraph(adj, f), x), and x is dense. Training mode needs at least 2 nodes.
class Gin : public Trunk {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  explicit Gin(const GinOptions& o, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Trunk(published(o, kGin, kPublishedGin, {.edge_in = o.edge_in, .train_eps = o.train_eps}), random,
              device, dtype) {}
};

}  // namespace rodeo
