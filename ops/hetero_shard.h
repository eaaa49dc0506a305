/// Graphs of several node types whose destinations are cut among ranks (HeteroGraph::shard). Throws
/// rodeo::Error as Communicator does.
#pragma once

#include <cstdint>

#include "core/variable.h"
#include "ops/hetero_graph.h"

namespace rodeo {

/// Nodes of one type, from `begin` on.
struct RankNodes {
  std::int64_t begin = 0, count = 0;
};
/// The nodes of type t whose rows this rank has: all of them where the graph is no shard.
RankNodes rank_nodes(const HeteroGraph& graph, int t);

/// The rows of all nodes from those of each rank, both sorted by type.   x [nodes of the rank, n], f64, f32,
/// bf16 or f16 -> [graph.num_nodes(), n]. x itself where the graph is no shard; else a collective call.
/// Gradient: dx is the rank's rows of the sum of dy over ranks. Deterministic: summed in the order of ranks.
Variable gather_nodes(const HeteroGraph& graph, const Variable& x);

/// RandomKey::first_row of arrays of the rank's nodes and of its (target, relation) rows: those of other
/// ranks have other numbers. A multiple of 4; 0 where the graph is no shard.
std::int64_t first_random_row(const HeteroGraph& graph);

}  // namespace rodeo
