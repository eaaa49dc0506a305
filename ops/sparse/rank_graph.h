/// Where a graph lives: on one rank, or its rows over several. Operators compute on the rank's rows of
/// either. They ask here, in sharded_products.h or in sharded_attention.h, and do not call
/// Adjacency::shard().
#pragma once

#include <string_view>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/random.h"

namespace rodeo {

bool spans_ranks(const Adjacency& adj);
/// The CSR that this rank computes on: the graph itself, or the rank's rows [nodes of the rank, all nodes].
const Adjacency& rank_rows(const Adjacency& adj);
/// A graph of other rows with the same columns, on the same ranks.
Adjacency with_rows_of(const Adjacency& adj, const Csr& rows);
/// The key for dropout on the rank's rows: over several ranks it counts rows from the rank's first one.
RandomKey key_of_rank(const Adjacency& adj, RandomKey key);
/// The rows of all ranks, by an all-gather; x itself on one rank.
Tensor rows_of_all_ranks(const Adjacency& adj, const Tensor& x);
/// Throws Error with `complaint` where the graph does not span ranks.
const ShardedRows& require_shard(const Adjacency& adj, std::string_view complaint);

}  // namespace rodeo
