/// Induced subgraphs and node orders applied to a dataset.
#pragma once

#include <cstdint>

#include "datasets/dataset.h"

namespace rodeo {

/// The induced subgraph: node i of the result is nodes[i]. Edges between selected nodes keep their order and
/// their weights. Features, labels and all splits are renumbered. node_id [i] of the result is the original
/// id: dataset.node_id[nodes[i]], or nodes[i] if the dataset has no node_id. num_classes does not change.
///   nodes  i64 [k], distinct; a permutation of all nodes only reorders them
/// Throws Error for ids outside [0, num_nodes) and for duplicate ids.
Dataset select_nodes(const Dataset& dataset, const Tensor& nodes);

/// `count` random distinct nodes, ascending: i64 [count]. A function of its arguments.
Tensor random_nodes(std::int64_t num_nodes, std::int64_t count, std::uint64_t seed);

}  // namespace rodeo
