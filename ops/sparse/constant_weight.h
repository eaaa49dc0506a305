/// Edge weights that never change (set_constant_weight): those of all edges on every rank, for sums by
/// columns (ops/aggregation_types.h).
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

/// The rank's edges have these weights, [edges of the rank], for as long as the graph lives.
void keep_constant_weight(const ShardedRows& share, const Tensor& weight);
/// Whether `weight` is such a tensor, and no gradient of it is asked for. The same on all ranks.
bool is_constant_weight(const ShardedRows& share, const Variable& weight);

struct WeightedGraph {
  Adjacency adj;  // [all nodes, all nodes]
  Tensor weight;  // [edges of adj]
};
/// The whole graph. Gathered at the first call, which is a collective one, and kept until no form reads it.
/// Throws Error if that would be during a CUDA graph capture.
WeightedGraph whole_weighted(const ShardedRows& share, const Tensor& weight);
/// Its transpose, for the gradient. Throws Error as above.
WeightedGraph transposed_weighted(const ShardedRows& share, const Tensor& weight);

}  // namespace rodeo
