/// The dense row blocks of a graph, cached on it.
#pragma once

#include "core/adjacency.h"
#include "ops/plan/dense_blocks.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// The dense blocks of adj, in the order of its rows or of clusters of them, where DenseBlocks::pays; else
/// null. Found on the host, on graphs whose rows are long and local. Cached on adj; during CUDA graph capture
/// null, which is not cached.
const DenseBlocks* dense_blocks(const Adjacency& adj);
/// The blocks if rode-tc runs its form for dense row blocks: in 16 bits, unless options of RoDe's plan are
/// given.
const DenseBlocks* dense_form(const Adjacency& adj, DType dtype, const RodeOptions& options);

}  // namespace rodeo
