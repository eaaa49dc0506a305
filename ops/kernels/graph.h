/// Kernels of conversions between forms of a graph. registry.h states what kernels may assume.
#pragma once

#include "ops/convert_types.h"
#include "ops/copy_padded_types.h"
#include "ops/kernels/registry.h"
#include "ops/row_cache_types.h"
#include "ops/sample_types.h"

namespace rodeo::kernels {

// convert.h: row, col, ids [E]; any size may be 0
struct SortedEdges {
  Csr csr;
  Tensor edge_ids;  // i64 [edges]; undefined unless requested
};
RODEO_KERNEL(coo_to_csr, SortedEdges(const Tensor& row, const Tensor& col, std::int64_t rows,
                                     std::int64_t cols, const CooOptions& options));
RODEO_KERNEL(edge_rows, void(const Csr& a, const Tensor& rows));  // rows i32 [edges]
/// The first row whose columns are not sorted, or -1.
RODEO_KERNEL(first_unsorted_row, std::int64_t(const Csr& a));
RODEO_KERNEL(add_self_loops, SortedEdges(const Csr& a, std::int64_t first_row));
/// out[i] = values[ids[i]], or `missing` where ids[i] is -1. values [m] or [m, n], ids [k], out [k] or [k, n]
RODEO_KERNEL(take, void(const Tensor& values, const Tensor& ids, double missing, const Tensor& out));
/// Whether the pattern of a square matrix with sorted rows is symmetric, parallel edges included. If so, ids
/// i64 [edges], where defined, gets the position of the reverse of each edge.
RODEO_KERNEL(reverse_edges, bool(const Csr& a, const Tensor& ids));
/// The number of edges (i, j), i != j, without an edge (j, i). a: square, sorted rows, some edges
RODEO_KERNEL(count_one_way_edges, std::int64_t(const Csr& a));

// validate.h: the tensors may be empty, a CSR may have any values
/// Position of the first id outside [0, limit), or -1.
RODEO_KERNEL(first_out_of_range, std::int64_t(const Tensor& ids, std::int64_t limit));
RODEO_KERNEL(first_not_finite, std::int64_t(const Tensor& values));
RODEO_KERNEL(scan_csr, CsrScan(const Csr& a));

// select_rows.h: rows i64 [k], row_ptr i64 [k + 1] of the result, col i32 and edge_ids i64 [edges of the
// result], of which there are some; edge_ids may be undefined
RODEO_KERNEL(copy_rows, void(const Csr& a, const Tensor& rows, const Tensor& row_ptr, const Tensor& col,
                             const Tensor& edge_ids));

// gather_rows.h, row_cache.h: x [m] or [m, n], m may be 0; index [k], y [k] or [k, n]; cache undefined or of
// x
RODEO_KERNEL(gather_rows, void(const Tensor& x, const RowCache& cache, const Tensor& index, const Tensor& y));

// segment_reduce.h
/// dx[offsets[s] + arg[s, j], j] = dy[s, j] where arg >= 0; 0 elsewhere.
///   offsets i64 [segments + 1], arg i32 and dy [segments, n], dx [rows, n]
RODEO_KERNEL(segment_extremum_backward,
             void(const Tensor& offsets, const Tensor& arg, const Tensor& dy, const Tensor& dx));

// id_ranges.h: ids, order and out [n], of which there are some; begin i64 [ranges + 1]
/// range i32 [n]: the last range that begins at or before the id
RODEO_KERNEL(range_of, void(const Tensor& ids, const Tensor& begin, const Tensor& range));
RODEO_KERNEL(inverse_permutation, void(const Tensor& order, const Tensor& inverse));  // i64, i32
RODEO_KERNEL(number_ids, void(const Tensor& ids, std::int64_t begin, std::int64_t step, const Tensor& out));
/// hetero_graph.h: share f64 [edges]: 1 / edges of the row. a: some rows
RODEO_KERNEL(row_shares, void(const Csr& a, const Tensor& share));

// sample_neighbors.h: targets i64 [t], num_targets i64 [1], row_ptr i64 [t + 1]
RODEO_KERNEL(sample_row_ptr, void(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                                  const SampleOptions& options, const Tensor& row_ptr));
/// sources i32 [capacity]: the node that each sampled edge begins at
RODEO_KERNEL(sample_edges, void(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                                const SampleOptions& options, const SampleKey& key, const Tensor& row_ptr,
                                const Tensor& edge_ids, const Tensor& sources));
/// Numbers the sources: nodes and num_nodes of NeighborSample, and col, which holds nodes before. marks: as
/// make_node_marks() returns them, and left so.
RODEO_KERNEL(number_sources, void(const Tensor& targets, const Tensor& num_targets, const Tensor& marks,
                                  const NeighborSample& sample));

/// col[e] = nodes[a.col[e]]: i32 [edges], 0 for a node outside [0, limit). Edges that no row names too.
RODEO_KERNEL(take_columns, void(const Csr& a, const Tensor& nodes, std::int64_t limit, const Tensor& col));

// select_columns.h: a has rows; ids [edges of the result], of which there are some
/// row_ptr i64 [rows + 1] of the edges from columns below `cols`
RODEO_KERNEL(count_first_columns, void(const Csr& a, std::int64_t cols, const Tensor& row_ptr));
RODEO_KERNEL(copy_first_columns, void(const Csr& a, std::int64_t cols, const Tensor& row_ptr,
                                      const Tensor& col, const Tensor& edge_ids));

// copy_padded.h: no destination is empty
RODEO_KERNEL(copy_padded, void(const std::vector<PaddedCopy>& copies));

// graph_hash.h
RODEO_KERNEL(hash_values, std::uint64_t(const Tensor& values));  // i32 or i64; may be empty

// dense_csr.h: x, y [m, n], weight [edges]; undefined: ones
struct WeightedCsr {
  Csr csr;
  Tensor weight;
};
RODEO_KERNEL(dense_to_csr, WeightedCsr(const Tensor& x, RowScan scan));  // x may be empty
RODEO_KERNEL(csr_to_dense, void(const Csr& a, const Tensor& weight, const Tensor& y));

}  // namespace rodeo::kernels
