/// The whole graph on every rank, and its edge weights that never change (set_constant_weight), for products
/// by columns (ops/aggregation_types.h). What is gathered is kept until no form reads it.
#pragma once

#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

/// [all nodes, all nodes]. The first call gathers it, and is a collective one. Throws Error if that would be
/// during a CUDA graph capture.
const Adjacency& whole_graph(const ShardedRows& shard);

/// The rank's edges have these weights, [edges of the rank], for as long as the graph lives.
void keep_constant_weight(const ShardedRows& shard, const Tensor& weight);
/// Whether `weight` is such a tensor, and no gradient of it is asked for. The same on all ranks.
bool is_constant_weight(const ShardedRows& shard, const Variable& weight);

struct WeightedGraph {
  Adjacency adj;  // [all nodes, all nodes]
  Tensor weight;  // [edges of adj]
};
/// The whole graph with constant weights, and its transpose for the gradient. Each gathers at its first call,
/// as whole_graph does. weight [edges of the rank]; undefined: a graph without weights.
WeightedGraph whole_weighted(const ShardedRows& shard, const Tensor& weight);
WeightedGraph transposed_weighted(const ShardedRows& shard, const Tensor& weight);

/// The graphs that are stored: the whole graph and, where it differs, its transpose with weights.
std::vector<Adjacency> whole_graphs(const Adjacency& rows);
void release_whole_graph(const Adjacency& rows);
/// Frees gathered weights and the transpose only.
void release_whole_weights(const Adjacency& rows);

}  // namespace rodeo
