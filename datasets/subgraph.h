/// Small induced subgraphs of a dataset.
#pragma once

#include <cstdint>

#include "datasets/dataset.h"

namespace rodeo {

/// The first `nodes` nodes of a breadth-first search from a random node towards the sources: i64 [nodes],
/// ascending. The search restarts at another random node when it runs out of edges. Returns all nodes if the
/// graph has fewer. A function of the graph, nodes and seed. Throws Error for nodes < 1.
Tensor neighbourhood(const Dataset& dataset, std::int64_t nodes, std::uint64_t seed = 0);

/// The induced subgraph of `nodes`, renumbered 0, 1, ...: select_nodes (subset.h) for ascending ids.
///   nodes    i64 [k], ascending, each in [0, dataset.num_nodes)
///   returns  a Dataset that shares no memory; num_classes is that of the dataset
/// Deterministic. Throws Error for other values of nodes.
Dataset induced_subgraph(const Dataset& dataset, const Tensor& nodes);

}  // namespace rodeo
