/// The reductions of ops/spmm.h other than the sum.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// weight may be undefined.
Variable spmm_mean(const Adjacency& adj, const Variable& weight, const Variable& x,
                   const SpmmOptions& options);
/// options.reduce is kMax or kMin.
Variable spmm_minmax(const Adjacency& adj, const Variable& weight, const Variable& x,
                     const SpmmOptions& options);

/// [rows] 1 / (number of edges of the row), at least 1 edge; f64 for f64 values, else f32. Cached on the
/// graph.
Tensor mean_scale(const Adjacency& adj, DType values);

}  // namespace rodeo
