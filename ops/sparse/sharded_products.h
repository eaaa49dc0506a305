/// The products of sharded graphs: what ranks exchange, and the sums of a rank's rows
/// (ops/aggregation_types.h).
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/aggregation_types.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// x [nodes of the rank, ...] -> [all nodes, ...], by rows or halo: rows that the rank's edges do not read
/// may not be initialised. Any dtype by rows, floating ones by halo. A collective call.
/// Gradient: dx is the rank's rows of the sum of dy over ranks. Deterministic.
Tensor neighbour_rows(const ShardedRows& share, const Tensor& x);
Variable neighbour_rows(const ShardedRows& share, const Variable& x);
/// The same in a form that was chosen: kRows or kHalo.
Variable neighbour_rows(const ShardedRows& share, Aggregation form, const Variable& x);

/// A X of the whole graph without edge weights: the rank's rows.   x [nodes of the rank, n] -> the same
/// shape. A collective call. Gradient: A^T dy. Deterministic.
Tensor sharded_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options);
Variable sharded_sum(const ShardedRows& share, const Variable& x, const SpmmOptions& options);
/// The same with the weights of the rank's edges.   weight [edges of the rank]. Gradients of weight and x.
Variable sharded_sum(const ShardedRows& share, const Variable& weight, const Variable& x,
                     const SpmmOptions& options);

}  // namespace rodeo
