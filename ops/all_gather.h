/// Exchange of node rows between the ranks of a sharded graph. Throws rodeo::Error as Communicator does.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

/// The rows of all ranks, in their order.   x [nodes of the rank, ...] -> [all nodes, ...], 1 to 3
/// dimensions. Any dtype, on a device that the communicator takes. A collective call: every rank makes it.
/// Gradient: dx is the rank's rows of the sum of dy over ranks. Deterministic: summed in the order of ranks.
Tensor all_gather(const NodePartition& nodes, const Tensor& x);
Variable all_gather(const NodePartition& nodes, const Variable& x);

}  // namespace rodeo
