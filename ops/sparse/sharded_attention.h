/// Attention on sharded graphs, in each form of ops/aggregation_types.h. The contracts are those of
/// ops/attention.h.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// gat_attention.   s, t [nodes of the rank, heads], x [nodes of the rank, heads, k]. A collective call.
Variable sharded_attention(const ShardedRows& share, const Variable& s, const Variable& t, const Variable& x,
                           const AttentionOptions& options);
/// gat_self_attention.   a_dst, a_src [heads, k], equal on all ranks: their gradients are to be summed over
/// ranks. A collective call.
Variable sharded_self_attention(const ShardedRows& share, const Variable& x, const Variable& a_dst,
                                const Variable& a_src, const AttentionOptions& options);

}  // namespace rodeo
