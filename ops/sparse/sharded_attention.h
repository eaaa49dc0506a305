/// Attention that reads rows of other ranks where a graph spans ranks, in the form that is chosen for it. On
/// one rank it is that of graph_attention.h. The contracts are those of ops/attention.h.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// gat_attention.   s, t [nodes of the rank, heads], x [nodes of the rank, heads, k]. A collective call.
Variable neighbour_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                             const AttentionOptions& options);
/// gat_self_attention.   a_dst, a_src [heads, k], equal on all ranks: their gradients are to be summed over
/// ranks. A collective call.
Variable neighbour_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                                  const Variable& a_src, const AttentionOptions& options);

}  // namespace rodeo
