/// Plans of TCA-SpMM, cached on the graph.
#pragma once

#include <cstdint>

#include "core/adjacency.h"
#include "ops/plan/tca_plan.h"

namespace rodeo {

/// The work assignment for `tiles` column tiles (TcaPlan::tiles), computed on the graph's device; the arrays
/// are the same on every device.
///   cluster  u8 [rows], or undefined for the order of rows
TcaPlan make_tca_plan(const Adjacency& adj, const Tensor& cluster, std::int64_t tiles);
/// The plan of adj, with clusters where RowClusters::should_use. Cached on adj, one for each number of tiles.
/// Throws Error where it would be computed during CUDA graph capture.
const TcaPlan& tca_plan(const Adjacency& adj, std::int64_t tiles);

}  // namespace rodeo
