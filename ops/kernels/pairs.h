/// Kernels of link prediction. registry.h states what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"
#include "ops/negative_edges_types.h"

namespace rodeo::kernels {

// pairs.h: a [m, n], b [p, n], n >= 1; src, dst i64 [k]
/// s [k]
RODEO_KERNEL(pair_dot,
             void(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& s));
/// y [k, n]
RODEO_KERNEL(pair_mul,
             void(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& y));
/// Stable sort of the positions 0 ... k - 1 by index. index i64 [k], entries outside [0, rows) are left out;
/// order i32 [k]; row_ptr i64 [rows + 1]: the positions of index r are order[row_ptr[r]] ...
RODEO_KERNEL(group_by_index, void(const Tensor& index, const Tensor& order, const Tensor& row_ptr));
/// dx[r, :] = sum over the positions i of r of dy[i] other[at[i], :]. dy [k] or [k, n]; at i64 [k];
/// dx [rows, n]
RODEO_KERNEL(pair_backward, void(const Tensor& dy, const Tensor& other, const Tensor& at, const Tensor& order,
                                 const Tensor& row_ptr, const Tensor& dx));

/// negative_edges.h: src, dst i64 [k]; the range has all counts
RODEO_KERNEL(negative_edges,
             void(const Csr& a, const PairRange& among, RandomKey key, const Tensor& src, const Tensor& dst));

/// ranking.h: positive, negative f64 or f32; metrics f64 [4]
RODEO_KERNEL(ranking_metrics,
             void(const Tensor& positive, const Tensor& negative, std::int64_t hits, const Tensor& metrics));

}  // namespace rodeo::kernels
