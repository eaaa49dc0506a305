/// Kernels of sets of graphs. registry.h states what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"

namespace rodeo::kernels {

/// graph_batch.h: the graphs of a batch from a block-diagonal graph. places i64 [4, graphs + 1]: where each
/// graph begins in the batch (nodes, edges) and in `all` (nodes, edges); the last column of the first two is
/// the batch's size. nodes i64 [n], batch.row_ptr i64 [n + 1], batch.col i32 and edge_ids i64 [edges], which
/// may be empty
RODEO_KERNEL(block_diagonal, void(const Csr& all, const Tensor& places, const Tensor& nodes, const Csr& batch,
                                  const Tensor& edge_ids));

}  // namespace rodeo::kernels
