/// How the ranks of a sharded graph exchange node rows for its products.
#pragma once

#include <memory>
#include <string>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "ops/aggregation_types.h"

namespace rodeo {

/// The rank's shard of a square graph on the host: its rows on `device`, and whether the graph is symmetric.
/// It is prepared (prepare_shard).   graph [n, n], n = nodes->num_nodes(). No dtypes, only the pattern is
/// read. A collective call. Deterministic. Throws Error where the graph is not square, not on the host, or
/// has another number of nodes, and as Communicator does.
Adjacency shard(const Adjacency& graph, const std::shared_ptr<const NodePartition>& nodes, Device device,
                Aggregation form = Aggregation::kAuto);

/// Prepares a graph that Adjacency::sharded made, for all operators that read it:
///   - its rows run in clusters of common neighbours where one rank's would, found on the edges of all ranks;
///   - `form` says what ranks exchange. kAuto takes what is predicted to be the fastest, for each width and
///     dtype of a product. On CUDA it times those that are predicted to be near, when a product is first
///     computed outside of a CUDA graph capture, and takes another where that is clearly faster. Rank 0 keeps
///     timed choices in cache_folder(), so that later runs have the same bits.
/// Without it, products are in the form kRows, and slower on large graphs. With kColumns, a product that is
/// not a sum or mean without edge weights or with constant ones (set_constant_weight), nor gat_attention,
/// throws Error.
/// A collective call, once, before the first product.   adj [nodes of the rank, all nodes]; any device that
/// the communicator takes. No dtypes, only the pattern is read. Deterministic: a form has the same bits at
/// the same number of ranks; kRows and kHalo have the same bits in forward, and kAuto those of the form that
/// it chooses. Throws Error where adj is not sharded, and as Communicator does.
void prepare_shard(const Adjacency& adj, Aggregation form = Aggregation::kAuto);

/// Says that edge weights never change. Their sums and means may then be by columns, for which every rank
/// keeps the weights of all edges, in the orders of the graph and of its transpose.
///   adj     sharded and prepared
///   weight  [edges of the rank], f64, f32, bf16 or f16: the tensor that products are given, which the graph
///           keeps. Products whose weight requires a gradient do not read what is kept
/// Every rank calls it, before the first product; nothing is exchanged then. Deterministic. Throws Error
/// where adj is not prepared, or weight has another shape or device.
void set_constant_weight(const Adjacency& adj, const Tensor& weight);

/// The forms of the products so far, and why: a line each. Empty for a graph that was not prepared.
///   adj  sharded, or the rows of the rank (ShardedRows::rows). No shapes, no dtypes. Deterministic but for
///        times. Throws Error where adj is undefined.
std::string explain_aggregation(const Adjacency& adj);

}  // namespace rodeo
