/// Plans of one graph: computed by kernels on its device at first use, then cached on the Adjacency. The
/// plans themselves, as plain data and pure functions, are in ops/plan.
#pragma once

#include <cstdint>

#include "core/adjacency.h"
#include "ops/plan/rode_plan.h"
#include "ops/plan/spmv_plan.h"
#include "ops/sparse/row_order.h"

namespace rodeo {

/// The row decomposition of adj, computed on its device; the arrays are the same on every device.
///   cluster  u8 [rows], or undefined to order rows by length alone
///   options  Throws Error unless they are as RodeOptions requires
RodePlan make_rode_plan(const Adjacency& adj, const Tensor& cluster = {}, const RodeOptions& options = {});
/// The plan of adj, with clusters where row_clusters(adj) is defined. Cached on adj, one plan for each value
/// of options.
const RodePlan& rode_plan(const Adjacency& adj, const RodeOptions& options);
const RodePlan& rode_plan(const Adjacency& adj);

/// Number of rows, longest row and mean row length. Cached on adj; the first call waits for the device.
const RowLengths& row_lengths(const Adjacency& adj);

/// edge_rows(adj) (ops/convert.h), for kernels that map threads to edges. Cached on adj: 4 bytes an edge.
const Tensor& cached_edge_rows(const Adjacency& adj);
bool has_cached_edge_rows(const Adjacency& adj);
/// Frees them. The caller knows that no captured CUDA graph reads them.
void release_edge_rows(const Adjacency& adj);

}  // namespace rodeo
