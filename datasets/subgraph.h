/// A small part of a dataset.
#pragma once

#include <cstdint>

#include "datasets/dataset.h"

namespace rodeo {

/// About a random node, the `nodes` nodes that are nearest by edges (breadth first, towards the sources;
/// where these end, from another random node): i64 [nodes], ascending. All nodes, where there are no more.
/// A function of the graph, nodes and seed. Throws Error for nodes < 1.
Tensor neighbourhood(const Dataset& dataset, std::int64_t nodes, std::uint64_t seed = 0);

/// The nodes with the edges among them, renumbered by their places: select_nodes (subset.h) for nodes that
/// keep their order.
///   nodes    i64 [k], ascending, each in [0, dataset.num_nodes)
///   returns  a Dataset of its own memory; num_classes is that of the dataset
/// Deterministic. Throws Error where nodes is something else.
Dataset induced_subgraph(const Dataset& dataset, const Tensor& nodes);

}  // namespace rodeo
