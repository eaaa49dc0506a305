/// Sums whose exchange overlaps with their computation, a part of the columns after the other.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// A X: the other ranks' rows of the next columns arrive while a part is multiplied, and in backward the
/// gradients of a part leave while those of the next are computed.   weight [edges of the rank], or
/// undefined; x [nodes of the rank, n]. A collective call. Gradients as of spmm. Deterministic.
Variable sum_in_parts(const ShardedRows& share, const Variable& weight, const Variable& x,
                      const SpmmOptions& options);

}  // namespace rodeo
