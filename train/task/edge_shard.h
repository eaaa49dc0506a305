/// The edges of a graph whose ranks read a part of the file each, exchanged by destination. Host memory is
/// that of the rank's part and rows, and 16 bytes a node of the whole graph.
#pragma once

#include <memory>

#include "core/node_partition.h"
#include "datasets/edge_part.h"
#include "ops/gcn_norm.h"

namespace rodeo {

/// One rank's rows of a graph, on the host.
struct EdgeShard {
  std::shared_ptr<const NodePartition> nodes;
  Csr rows;       // [nodes of the rank, all nodes], sorted by column
  Tensor weight;  // f32 [edges of the rank]; undefined without edge weights
  // Numbers of the whole graph, equal on all ranks:
  std::int64_t num_edges = 0, one_way_edges = 0;  // the latter as count_one_way_edges()
  bool symmetric = false;                         // as Adjacency::sharded()
};

/// The rows are those of to_graph() with `undirected` as CooOptions::symmetrize, and the same edge weights.
/// `nodes`: of the graph; dense_features: as for partition_nodes(). A collective call. Deterministic.
/// Symmetry is found by sums of two 64-bit hashes over the edges.
///   device  that sorts and exchanges edges, of one type on all ranks; the result is the same on each
EdgeShard shard_edges(EdgePart part, std::int64_t nodes, bool undirected, std::int64_t dense_features,
                      const Communicator& ranks, Device device = kCpu);

/// A + I: the rows of add_self_loops(), with weight 1 for added loops.
EdgeShard with_self_loops(const EdgeShard& shard);

}  // namespace rodeo
