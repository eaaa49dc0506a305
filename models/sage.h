#pragma once

#include <optional>
#include <vector>

#include "layers/sage_conv.h"
#include "models/published.h"

namespace rodeo {

struct SageOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;
  std::int64_t classes = 0;
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of x; default: dropout
  Reduce aggr = Reduce::kMean;
  SpmmOptions spmm = {};
};

inline constexpr TrunkPreset kPublishedSage{.name = "sage", .on_blocks = true};

/// GraphSAGE (Hamilton et al., NIPS 2017): dropout, convolution, ReLU, ... , dropout, convolution. Returns
/// logits. Sparse x only with sum and mean. The graph is without self loops: a node's own features have
/// separate weights.
class Sage : public Trunk {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  explicit Sage(const SageOptions& o, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Trunk(published(o, kSage, kPublishedSage, {.aggr = o.aggr}), random, device, dtype) {}

  using Trunk::forward;
  /// Over the blocks of a mini-batch: one bipartite graph [destinations, sources] a layer.
  Variable forward(const std::vector<Adjacency>& blocks, const Features& x) {
    std::vector<ConvGraph> graphs;
    for (const Adjacency& block : blocks) graphs.emplace_back(GcnBlock{block, {}, {}, {}});
    return forward(graphs, x);
  }
  /// One layer of forward() in evaluation mode, on a block.
  Variable evaluate_layer(int layer, const Adjacency& block, const Features& h) {
    return Trunk::evaluate_layer(layer, GcnBlock{block, {}, {}, {}}, h);
  }
};

}  // namespace rodeo
