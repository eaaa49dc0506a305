#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/sage_conv.h"

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

/// GraphSAGE over the whole graph (Hamilton et al., NIPS 2017): dropout, convolution, ReLU, ... , dropout,
/// convolution. Returns logits.
class Sage : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  Sage(const SageOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in] -> logits [nodes, classes]. Sparse x only with sum and mean. adj without self loops: a
  /// node's own features have separate weights.
  Variable forward(const Adjacency& adj, const Features& x);
  /// The same over the blocks of a mini-batch (datasets/neighbor_sampler.h): one bipartite graph
  /// [destinations, sources] a layer, whose first sources are its destinations. x [blocks[0].cols(), in] ->
  /// logits [blocks.back().rows(), classes]. Throws Error unless there is a block for every layer and each
  /// has as many sources as the one before has destinations.
  Variable forward(const std::vector<Adjacency>& blocks, const Features& x);
  /// One layer of forward() in evaluation mode, on a block: h [sources, columns] -> [destinations, columns].
  /// Throws Error in training mode and for a layer outside [0, num_layers()).
  Variable evaluate_layer(int layer, const Adjacency& block, const Features& h) const;
  int num_layers() const { return options_.layers; }

 private:
  /// Of blocks: every one is another graph, so there are no plans, and nothing is tuned for them.
  SpmmOptions block_spmm() const;
  /// block_of(i): the graph of layer i.
  template <class BlockOf>
  Variable run(const BlockOf& block_of, const Features& x, const SpmmOptions& spmm);

  SageOptions options_;
  Random random_;
  std::vector<std::unique_ptr<SageConv>> convs_;  // "conv1", "conv2", ...
};

}  // namespace rodeo
