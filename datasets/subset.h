/// Datasets of some of the nodes, or of all of them in another order.
#pragma once

#include <cstdint>

#include "datasets/dataset.h"

namespace rodeo {

/// The induced subgraph: node i of the result is nodes[i]. Edges between chosen nodes stay in their order,
/// with their weights; features, labels and all splits follow their nodes. node_id [i] is what the node was
/// called: dataset.node_id[nodes[i]], or nodes[i] where there is none. num_classes stays.
///   nodes  i64 [k], distinct; a permutation of all nodes makes no more than a new order
/// Throws Error for ids outside [0, num_nodes) and for an id that is there twice.
Dataset select_nodes(const Dataset& dataset, const Tensor& nodes);

/// `count` nodes drawn without repetition, ascending: i64 [count]. The same for the same arguments.
Tensor random_nodes(std::int64_t num_nodes, std::int64_t count, std::uint64_t seed);

}  // namespace rodeo
