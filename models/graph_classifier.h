#pragma once

#include <memory>
#include <vector>

#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/graph_pool.h"

namespace rodeo {

struct GraphClassifierOptions {
  enum class Conv {
    kGin,  // GINConv of Linear, BatchNorm, ReLU, Linear, ReLU
    kGcn,  // GCNConv, ReLU
  };
  Conv conv = Conv::kGin;
  std::int64_t in = 0;
  std::int64_t edge_in = 0;  // kGin: columns of edge features, which GineConv reads; 0: none
  std::int64_t hidden = 64;
  std::int64_t classes = 0;
  int layers = 5;
  double dropout = 0.5;
  bool train_eps = false;
  PoolKind pool = PoolKind::kSum;
  SpmmOptions spmm = {};
};

/// A classifier of whole graphs: convolutions, a pooling of the nodes of each graph, then Linear, ReLU,
/// dropout, Linear. With GIN and sum pooling the network of PyG's example of Xu et al., "How powerful are
/// graph neural networks?" (ICLR 2019). Returns logits. Parameters: conv1, conv2, ... , pool, lin1, lin2.
class GraphClassifier : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial weights; a copy
  /// of it draws the dropout masks.
  GraphClassifier(const GraphClassifierOptions& options, Random random, Device device = kCpu,
                  DType dtype = DType::kF32);

  /// Nodes and edges of a batch. kGin reads graph.adj alone, without self loops; kGcn the normalised graph.
  ///   x [nodes, in], offsets i64 [graphs + 1] -> logits [graphs, classes]
  ///   f [edges, edge_in] in graph.adj's edge order; undefined without edge_in
  /// Training mode needs at least 2 nodes.
  Variable forward(const GcnGraph& graph, const Variable& x, const Tensor& offsets, const Variable& f = {});

 private:
  GraphClassifierOptions options_;
  Random random_;
  std::vector<std::unique_ptr<GinConv>> gin_;
  std::vector<std::unique_ptr<GineConv>> gine_;
  std::vector<std::unique_ptr<GcnConv>> gcn_;
  std::unique_ptr<GraphPool> pool_;
  std::unique_ptr<Linear> lin1_, lin2_;
};

}  // namespace rodeo
