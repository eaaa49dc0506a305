/// The number of edges to each node, without a CSR where the list of edges does not need one.
#pragma once

#include "datasets/dataset.h"

namespace rodeo {

/// degree[i] = number of edges to node i, as often as they are listed; i64 [nodes] on the host. Edges may be
/// on any device, and are counted there:
///   - a stored CSR: differences of its row pointers;
///   - an edge list that is sorted by destination: segment_sum (ops/segment_sum.h), COO SpMV of ones;
///   - any other: row pointers of to_graph, because a sum over segments would have to sort it, too.
/// Deterministic. Throws Error for ids outside [0, nodes).
Tensor in_degrees(const Dataset& dataset);

}  // namespace rodeo
