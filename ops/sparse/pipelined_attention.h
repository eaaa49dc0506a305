/// Attention whose exchange is pipelined with its computation over blocks of heads.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// gat_attention in its fused form: the other ranks' rows of the next block of heads arrive while a block is
/// computed. In backward their gradients leave likewise.   s, t [nodes of the rank, heads],
/// x [nodes of the rank, heads, k]. A collective call. Gradients as of gat_attention. Deterministic.
Variable pipelined_attention(const ShardedRows& shard, const Variable& s, const Variable& t,
                             const Variable& x, const AttentionOptions& options);

}  // namespace rodeo
