/// What the layers that aggregate over a plain graph share.
#pragma once

#include <string_view>

#include "layers/linear.h"
#include "ops/spmm.h"

namespace rodeo {

/// Throws Error unless adj is square and x is [nodes, in].
void check_node_features(std::string_view layer, const Adjacency& adj, const Features& x, std::int64_t in);

/// linear(reduce over the edges of each row of weight * x); weight may be undefined. Sums and means commute
/// with the matrix, so they run on the narrower side, and on the dense one of sparse features; with other
/// reductions those are an Error.
Variable aggregate_and_project(const Adjacency& adj, const Variable& weight, const Features& x,
                               const Linear& linear, Reduce reduce, SpmmOptions options);
/// Whether it aggregates x itself, and not x W.
bool aggregates_first(const Features& x, const Linear& linear, Reduce reduce);

}  // namespace rodeo
