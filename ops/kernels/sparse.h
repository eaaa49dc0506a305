/// Kernels of sparse products and reductions over the edges of a row. registry.h states what kernels may
/// assume.
#pragma once

#include "ops/convert_types.h"
#include "ops/kernels/registry.h"
#include "ops/plan/dense_blocks.h"
#include "ops/plan/rode_plan.h"
#include "ops/plan/row_locality.h"
#include "ops/plan/spmv_tiles.h"
#include "ops/plan/tca_plan.h"
#include "ops/sddmm_types.h"
#include "ops/spmm_types.h"

namespace rodeo::kernels {

// features.h: values x, y [entries], scale [rows]; there is at least one entry
/// Dropout of sparse features, in the orders of the matrix and of its transpose (SparsePattern::place):
/// y[e] = scale[row[e]] dropout(x[e]) and transposed[place[e]] = y[e]. The mask is that of dropout on the
/// dense matrix, at (row[e], col[e]). scale undefined: 1. y or transposed may be undefined.
RODEO_KERNEL(drop_entries,
             void(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed));
/// Divides each row by the sum of its absolute values.
RODEO_KERNEL(normalize_entries, void(const Csr& a, const Tensor& x, const Tensor& y));

// spmm.h: weight [edges] or [edges, heads], undefined for an unweighted sum; x [cols, n] or [cols, heads, n];
// y [rows, n] or [rows, heads, n]. One kernel for each SpmmAlgorithm
RODEO_KERNEL_IN(kSparse, spmm_csr,
                void(const Csr& a, const RowLocality& locality, const Tensor& weight, const Tensor& x,
                     const Tensor& y));
RODEO_KERNEL_IN(kSparse, spmm_rode,
                void(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
                     const Tensor& x, const Tensor& y));
/// a may be empty; cluster may be undefined; options are resolved (RodePlan::resolve).
RODEO_KERNEL(rode_plan, RodePlan(const Csr& a, const Tensor& cluster, const RodeOptions& options));
RODEO_CUDA_KERNEL_IN(kSparse, spmm_rode_tc,
                     void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                          const Tensor& y));  // not f64
/// The form of rode-tc for dense row blocks. bf16 and f16; weight [edges] or undefined.
RODEO_CUDA_KERNEL_IN(kSparse, spmm_dense_blocks,
                     void(const Csr& a, const DenseBlocks& blocks, const Tensor& weight, const Tensor& x,
                          const Tensor& y));
/// The plan has the column tiles of x.
RODEO_CUDA_KERNEL_IN(kSparse, spmm_tca,
                     void(const Csr& a, const TcaPlan& plan, const Tensor& weight, const Tensor& x,
                          const Tensor& y));  // not f64
RODEO_KERNEL(tca_plan, TcaPlan(const Csr& a, const Tensor& cluster,
                               std::int64_t tiles));  // a may be empty; cluster may be undefined
// cluster u8 [cols]. Square, or with `nodes` the rank's rows of a square matrix: all ranks call it together.
RODEO_KERNEL(cluster_rows, void(const Csr& a, const NodePartition* nodes, const Tensor& cluster));
/// Locality of rows in the order of a, or cluster by cluster where `cluster` is defined. There is at least
/// one row.
RODEO_KERNEL(row_locality,
             RowLocality(const Csr& a, const Tensor& cluster, const RowLocality::Window& window));
/// State of cuSPARSE for one graph: descriptors, workspaces, converted indices. The first call of
/// spmm_cusparse creates it in `kept`.
struct CusparseGraph;
RODEO_CUDA_KERNEL_IN(kSparse, spmm_cusparse,
                     void(const Csr& a, std::shared_ptr<CusparseGraph>& kept, const Tensor& weight,
                          const Tensor& x, const Tensor& y));

// spmm.h, other reductions: shapes as above; there is at least one edge
/// sign: 1 for the maximum, -1 for the minimum. arg: i32 of y's shape, or undefined. It receives for the
/// gradients the position in its row of the edge that attains each extremum, in a layout of the device's own
/// (ops/cuda/spmm/row_positions.cuh).
RODEO_KERNEL_IN(kSparse, spmm_minmax,
                void(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x,
                     const Tensor& y, const Tensor& arg));
/// Gradients of spmm_minmax. arg as there.
RODEO_KERNEL_IN(kSparse, spmm_minmax_dx,
                void(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                     const Tensor& arg, const Tensor& dy, const Tensor& dx));
/// rows: i32 [edges], the row of every edge.
RODEO_KERNEL_IN(kSparse, spmm_minmax_dweight,
                void(const Adjacency& adj, const Tensor& rows, const Tensor& arg, const Tensor& x,
                     const Tensor& dy, const Tensor& dweight));
/// out [rows], f32 or f64: 1 / the number of edges of the row, 0 where there are none.
RODEO_KERNEL(inverse_row_length, void(const Csr& a, const Tensor& out));

// sddmm.h: weight [edges] or undefined
/// b1 [rows, heads, k], b2 [cols, heads, k], out [edges, heads]
RODEO_KERNEL_IN(kSparse, sddmm_dot,
                void(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                     SddmmAlgorithm algorithm, const Tensor& out));
/// b1 [rows, k], b2 [cols, k], out [edges, k]; op is kAdd or kMul
RODEO_KERNEL_IN(kSparse, sddmm_elementwise,
                void(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                     SddmmOp op, const Tensor& out));

// edge_sum.h: x [edges, k], edge_ids [edges] or undefined, y [rows, k]
RODEO_KERNEL(edge_sum, void(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y));

// spmv.h, segment_sum.h: x [cols], y [rows], weight [edges], undefined for an unweighted sum
RODEO_KERNEL_IN(kSparse, spmv_vector,
                void(const Csr& a, const Tensor& weight, const Tensor& x, int threads_per_vector,
                     const Tensor& y));
RODEO_KERNEL_IN(kSparse, spmv_rode,
                void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                     const Tensor& y));
RODEO_KERNEL(spmv_tiles,
             SpmvTiles(const Csr& a,
                       SpmvTileSize size));  // equal arrays on every device; there may be no edges
RODEO_KERNEL_IN(kSparse, spmv_stream,
                void(const Csr& a, const SpmvTiles& tiles, const Tensor& weight, const Tensor& x,
                     const Tensor& y));
RODEO_KERNEL(longest_row, std::int64_t(const Csr& a));  // most edges of any row; there may be no edges
/// row [edges] is sorted; where col is undefined, x is [edges].
RODEO_KERNEL_IN(kSparse, segment_sum,
                void(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                     const Tensor& y));
/// Where ids stop being sorted: the position of the first one that is smaller than the one before; -1 if none
/// is.
RODEO_KERNEL(first_descent, std::int64_t(const Tensor& ids));

}  // namespace rodeo::kernels
