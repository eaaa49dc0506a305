/// How the ranks of a sharded graph exchange node rows for its products.
#pragma once

#include <memory>

#include "core/adjacency.h"
#include "core/node_partition.h"

namespace rodeo {

/// The rank's share of a square graph on the host, on `device`: its rows, and whether the graph is symmetric;
/// prepared.   graph [n, n], n = nodes->num_nodes(). No dtypes, only the pattern is read. A collective call.
/// Deterministic. Throws Error where the graph is not square, not on the host, or has another number of
/// nodes, and as Communicator does.
Adjacency shard(const Adjacency& graph, const std::shared_ptr<const NodePartition>& nodes, Device device);

/// Prepares a graph that Adjacency::sharded made: its rows run in clusters of common neighbours where one
/// rank's would, found on the edges of all ranks. Without it, products are right but slower on large graphs.
/// A collective call, once, before the first product.   adj [nodes of the rank, all nodes]; any device that
/// the communicator takes. No dtypes, only the pattern is read. Deterministic. Throws Error where adj is not
/// sharded, and as Communicator does.
void prepare_shard(const Adjacency& adj);

}  // namespace rodeo
