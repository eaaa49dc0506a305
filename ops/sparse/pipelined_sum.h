/// Sums whose exchange is pipelined with their computation over blocks of columns.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// A X: the other ranks' rows of the next block of columns arrive while a block is multiplied. In backward
/// the gradients of a block leave while those of the next are computed.   weight [edges of the rank], or
/// undefined; x [nodes of the rank, n]. A collective call. Gradients as of spmm. Deterministic.
Variable pipelined_sum(const ShardedRows& shard, const Variable& weight, const Variable& x,
                       const SpmmOptions& options);

}  // namespace rodeo
