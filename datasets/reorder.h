/// Orders of the nodes of a graph: permutations, i64 [nodes], of which entry i is the node that comes i-th.
/// select_nodes(dataset, order) applies one. All are functions of the graph (and seed) alone.
#pragma once

#include <cstdint>

#include "core/adjacency.h"

namespace rodeo {

/// By row length, longest first; equal ones as they are.
Tensor degree_order(const Adjacency& adj);

/// Reverse Cuthill-McKee (1969; George 1971): breadth first from a node far out in each component, neighbours
/// by ascending degree, reversed; components by their smallest node. Rows are taken for neighbours: give it a
/// symmetric pattern.
Tensor rcm_order(const Adjacency& adj);

/// Any order alike, a function of nodes and seed.
Tensor random_order(std::int64_t nodes, std::uint64_t seed);

}  // namespace rodeo
