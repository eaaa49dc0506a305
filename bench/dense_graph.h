/// Graphs that are locally dense: random dense blocks on the diagonal, and noise.
#pragma once

#include <cstdint>
#include <string>

#include "core/adjacency.h"

namespace rodeo::bench {

struct DenseGraph {
  static constexpr int kNoise = 8;  // edges of a row to columns outside of its block; equal ones are one

  std::string name;
  std::int64_t nodes, block;
  int percent;  // of a block's elements that are edges; blocks are symmetric
};
/// "ddi, fraud, protein"
std::string dense_graph_names();
/// One of these, of the sizes and densities of ogbl-ddi, FraudYelp and ogbn-proteins, or
/// "NODES-BLOCK-PERCENT". Throws Error otherwise.
DenseGraph parse_dense_graph(const std::string& text);

/// On the CPU; columns of a row ascend. A function of its arguments only. shuffled: nodes in random order.
Adjacency make_dense_graph(const DenseGraph& graph, bool shuffled);

}  // namespace rodeo::bench
