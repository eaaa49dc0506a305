/// What every rank knows of a graph whose rows the ranks hold: what sampling from it reads.
#pragma once

#include <cstdint>
#include <memory>

#include "core/adjacency.h"
#include "ops/peer_rows.h"

namespace rodeo {

struct AllRows {
  std::int64_t nodes = 0, edges = 0;          // of all ranks
  Tensor row_ptr;                             // i64 [rows of all ranks + 1]
  std::shared_ptr<const PeerRows> columns{};  // i32 [edges], cut as the rows are; null: all are in csr().col
};

/// The rows of the whole graph. Where the graph is sharded, row pointers are gathered once and kept with it:
/// 8 bytes a node.   adj [rows, nodes], no dtypes: only the pattern is read. The first
/// call for a sharded graph is a collective one. Deterministic. Throws Error as Communicator does.
AllRows all_rows(const Adjacency& adj);

/// The rank's rows of a graph that every rank has, on its device, to sample from: a sharded graph that is not
/// prepared for products.   graph [n, n], n = nodes->num_nodes(), no dtypes. Exchanges nothing.
/// Deterministic. Throws Error for another number of nodes.
Adjacency cut_graph(const Adjacency& graph, const std::shared_ptr<const NodePartition>& nodes);

}  // namespace rodeo
