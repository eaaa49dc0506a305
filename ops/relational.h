/// Sums over the relations of a heterogeneous graph, with a weight matrix for each.
#pragma once

#include "core/variable.h"
#include "ops/hetero_graph.h"
#include "ops/relational_types.h"

namespace rodeo {

/// y[i] = sum over relations r of the reduction over the edges j -> i of r of x[j] W_r.
///   x        [nodes, in]    of all types
///   w        [relations, in, out], or block-diagonal as grouped_linear takes it
///   returns  [destinations, out]; a row without edges is zero
/// One product with a sparse matrix and one grouped product. kTransformFirst multiplies the sources of each
/// relation by W_r and sums rows of the stack; kAggregateFirst reduces x for each (target, relation), then
/// multiplies and sums. They differ by rounding. kAuto takes the one that costs less (plan_relational).
/// f64, f32, bf16 or f16; with 16-bit x, w may be f32. Gradients of x and w. Deterministic as spmm is. Throws
/// rodeo::Error when shapes, dtypes or devices disagree, and for kMax and kMin.
Variable relational_linear(const HeteroGraph& graph, const Variable& x, const Variable& w,
                           const RelationalOptions& options = {});

/// The rows of a parameter [relations, ...] of 2 to 4 dimensions in the order of HeteroGraph::source_order()
/// or target_order(); the parameter itself where `order` is undefined. f64, f32, bf16 or f16. Gradient: the
/// rows sorted back. Deterministic. Throws rodeo::Error for another number of relations.
Variable sort_relations(const Adjacency& order, const Variable& parameter);

/// The costs of both orders, and the order that is taken, for operands of relational_linear: shapes, dtypes
/// and errors are those. A function of sizes alone, the same on every device. It prints itself.
RelationalPlan plan_relational(const HeteroGraph& graph, const Variable& x, const Variable& w,
                               const RelationalOptions& options = {});

}  // namespace rodeo
