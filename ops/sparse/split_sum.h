/// Sums whose exchange overlaps with the product of the rank's own columns.
#pragma once

#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// A X of a symmetric graph without edge weights: the columns of the rank's own nodes are multiplied while
/// the other rows arrive. The rank's rows are stored a second time, split by columns, from the first call on.
///   x [nodes of the rank, n]. A collective call. Gradient: A dy, in the same way. Deterministic. Throws
///   Error
/// if the rows would be split during a CUDA graph capture.
Variable split_sum(const ShardedRows& shard, const Variable& x, const SpmmOptions& options);

/// The split rows: columns of the rank's own nodes, and the others. Empty before the first sum.
std::vector<Adjacency> split_rows(const Adjacency& rows);
void release_split_rows(const Adjacency& rows);

}  // namespace rodeo
