/// Attention whose exchange overlaps with its computation, a part of the heads after the other.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// gat_attention in its fused form: the rows of other ranks for the heads of the next part arrive while those
/// of a part are computed, and in backward their gradients leave likewise.   s, t [nodes of the rank, heads],
/// x [nodes of the rank, heads, k]. A collective call. Gradients as of gat_attention. Deterministic.
Variable attention_in_parts(const ShardedRows& share, const Variable& s, const Variable& t, const Variable& x,
                            const AttentionOptions& options);

}  // namespace rodeo
