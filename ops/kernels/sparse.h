/// Backend signatures: sparse products and reductions over the edges of a row. See registry.h for what
/// kernels may assume.
#pragma once

#include "ops/convert_types.h"
#include "ops/kernels/registry.h"
#include "ops/plan/rode_plan.h"
#include "ops/sddmm_types.h"
#include "ops/spmm_types.h"

namespace rodeo::kernels {

// features.h; there are entries
/// y[e] = scale[row[e]] dropout(x[e]), the word of element (row[e], col[e]) of the matrix being that of
/// dropout on it, and transposed[place[e]] = y[e]. scale undefined: 1. y or transposed may be undefined.
RODEO_KERNEL(drop_entries,
             void(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed));
RODEO_KERNEL(normalize_entries, void(const Csr& a, const Tensor& x, const Tensor& y));

// spmm.h; weight [edges] or [edges, heads], or undefined for an unweighted sum; heads and columns of x
// and y may be one dimension or two
RODEO_KERNEL(spmm_csr, void(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y));
RODEO_KERNEL(spmm_rode, void(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
                             const Tensor& x, const Tensor& y));
RODEO_KERNEL(rode_plan, RodePlan(const Csr& a, const Tensor& cluster,
                                 std::int64_t split));  // a may be empty, cluster undefined
RODEO_CUDA_KERNEL(spmm_tca, void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                                 const Tensor& y));  // not f64
RODEO_KERNEL(cluster_rows, void(const Csr& a, const Tensor& cluster));
/// What cuSPARSE keeps of one graph: descriptors, workspaces, converted indices. Made by the first use.
struct CusparseGraph;
RODEO_CUDA_KERNEL(spmm_cusparse, void(const Csr& a, std::shared_ptr<CusparseGraph>& kept,
                                      const Tensor& weight, const Tensor& x, const Tensor& y));

// spmm.h, other reductions; weight [edges] or [edges, heads], or undefined; there are edges
/// sign 1 for the maximum, -1 for the minimum. arg i32 of y's shape, or undefined: the position in its row of
/// the edge that y is from, -1 in a row without edges.
RODEO_KERNEL(spmm_minmax, void(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x,
                               const Tensor& y, const Tensor& arg));
RODEO_KERNEL(spmm_minmax_dx, void(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                                  const Tensor& arg, const Tensor& dy, const Tensor& dx));
/// rows i32 [edges]: the row of every edge.
RODEO_KERNEL(spmm_minmax_dweight, void(const Adjacency& adj, const Tensor& rows, const Tensor& arg,
                                       const Tensor& x, const Tensor& dy, const Tensor& dweight));
/// out[i] = 1 / the number of row i's edges, 0 for none; f32 or f64.
RODEO_KERNEL(inverse_row_length, void(const Csr& a, const Tensor& out));

// sddmm.h; weight [edges] or undefined
// b1 [rows, heads, k], b2 [cols, heads, k], out [edges, heads]
RODEO_KERNEL(sddmm_dot, void(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                             const Tensor& out));
// b1 [rows, k], b2 [cols, k], out [edges, k]; kAdd or kMul
RODEO_KERNEL(sddmm_elementwise, void(const Adjacency& adj, const Tensor& weight, const Tensor& b1,
                                     const Tensor& b2, SddmmOp op, const Tensor& out));

// edge_sum.h; x [edges, k], edge_ids [edges] or undefined, y [rows, k]
RODEO_KERNEL(edge_sum, void(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y));

// spmv.h, segment_sum.h; weight is undefined for an unweighted sum
RODEO_KERNEL(spmv_vector, void(const Csr& a, const Tensor& weight, const Tensor& x, int threads_per_vector,
                               const Tensor& y));
RODEO_KERNEL(spmv_rode, void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                             const Tensor& y));
RODEO_KERNEL(longest_row, std::int64_t(const Csr& a));  // there may be no edges
/// row is sorted; without col, x has one element per edge.
RODEO_KERNEL(segment_sum, void(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                               const Tensor& y));
RODEO_KERNEL(first_descent, std::int64_t(const Tensor& ids));  // position of the first below the one before

}  // namespace rodeo::kernels
