/// The whole graph on every rank, for products by columns and by heads (ops/aggregation_types.h).
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"

namespace rodeo {

/// [all nodes, all nodes]. Gathered at the first call, which is a collective one, and kept until no form
/// reads it. Throws Error if that would be during a CUDA graph capture.
const Adjacency& whole_graph(const ShardedRows& share);

}  // namespace rodeo
