/// The values that operators derive from a graph and keep with it, for a graph whose arrays are overwritten
/// (ops/padded_graph.h): how they are made anew in the same memory.
#pragma once

#include "core/adjacency.h"

namespace rodeo {

/// Whether all that is kept with adj is what the functions below know: no plans and no choices, which depend
/// on the values of its arrays.
bool derives_only_known(const Adjacency& adj);

// convert.cpp
/// values [edges] of adj in the order of its transpose, for values that are constants: the transposed pattern
/// is kept with adj, but not the 8 bytes an edge of transpose(adj).edge_ids.
Tensor transposed_values(const Adjacency& adj, const Tensor& values);
/// transpose_pattern(adj) is `transposed` from now on. Before that was called.
void set_transposed_pattern(const Adjacency& adj, const Adjacency& transposed);
/// Whether transpose_pattern(adj) was called since then.
bool reads_transposed_pattern(const Adjacency& adj);
/// The number of values that transposes keep with adj.
std::size_t num_cached_transposes(const Adjacency& adj);

// spmm_reduce.cpp
bool has_mean_scale(const Adjacency& adj, DType values);
/// Computes mean_scale(adj, values) again, in its memory.
void refresh_mean_scale(const Adjacency& adj, DType values);

// row_order.cpp
bool assumes_no_locality(const Adjacency& adj);

/// The arrays of adj are overwritten from now on: operators that have a form without a plan take it.
void set_overwritten(const Adjacency& adj);
bool is_overwritten(const Adjacency& adj);

}  // namespace rodeo
