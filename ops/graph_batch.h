/// Batches of small graphs as one block-diagonal graph.
#pragma once

#include <cstdint>
#include <vector>

#include "core/adjacency.h"

namespace rodeo {

/// Some graphs of a set, in the order they were asked for.
struct GraphBatch {
  Adjacency adj;    // block-diagonal: its rows and columns are the nodes of the batch
  Tensor nodes;     // i64 [nodes of the batch]: the position of each node in the set
  Tensor edge_ids;  // i64 [edges of the batch]: the position of each edge in the set
  Tensor offsets;  // i64 [graphs of the batch + 1]: the nodes of graph g are offsets[g] .. offsets[g + 1] - 1
};

/// A set of graphs, stored as one block-diagonal graph.
class GraphSet {
 public:
  GraphSet() = default;
  /// graph_ptr i64 [graphs + 1], on any device: the nodes of graph g are the rows [graph_ptr[g],
  /// graph_ptr[g + 1]) of adj, a square graph. Waits for the device. Throws Error unless graph_ptr rises
  /// from 0 to the number of nodes, and for the first edge between two graphs.
  GraphSet(Adjacency adj, const Tensor& graph_ptr);

  std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()) - 1; }
  const Adjacency& adj() const { return adj_; }
  /// i64 [graphs + 1], on the device of adj
  const Tensor& graph_ptr() const { return graph_ptr_; }
  std::int64_t num_nodes(std::int64_t graph) const { return nodes_[graph + 1] - nodes_[graph]; }
  std::int64_t num_edges(std::int64_t graph) const { return edges_[graph + 1] - edges_[graph]; }

  /// Builds the batch on the device of adj: one copy of the graphs' positions from the host, one kernel. A
  /// graph may occur several times. Edges of a row keep their order. The same result on every device. Throws
  /// Error for a graph outside [0, size()), and for more than 2^31 - 1 nodes.
  GraphBatch batch(const std::vector<std::int64_t>& graphs) const;

 private:
  Adjacency adj_;
  Tensor graph_ptr_;
  std::vector<std::int64_t> nodes_, edges_;  // [graphs + 1]: where the nodes and the edges of a graph begin
};

}  // namespace rodeo
