/// Backend signatures: conversions between forms of a graph. See registry.h for what kernels may assume.
#pragma once

#include "ops/convert_types.h"
#include "ops/kernels/registry.h"

namespace rodeo::kernels {

// convert.h; any size may be 0
struct SortedEdges {
  Csr csr;
  Tensor edge_ids;  // undefined unless asked for
};
/// Position of the first id outside [0, limit), or -1.
RODEO_KERNEL(first_out_of_range, std::int64_t(const Tensor& ids, std::int64_t limit));
RODEO_KERNEL(coo_to_csr, SortedEdges(const Tensor& row, const Tensor& col, std::int64_t rows,
                                     std::int64_t cols, const CooOptions& options));
RODEO_KERNEL(edge_rows, void(const Csr& a, const Tensor& rows));
RODEO_KERNEL(first_unsorted_row, std::int64_t(const Csr& a));  // -1 where all are sorted by column
RODEO_KERNEL(add_self_loops, SortedEdges(const Csr& a));
RODEO_KERNEL(take, void(const Tensor& values, const Tensor& ids, double missing, const Tensor& out));
// Whether a square matrix with sorted rows has (col, row) as often as (row, col), for all edges. If so, ids
// i64 [edges], where defined, is filled: the edge that each edge is in the other direction.
RODEO_KERNEL(reverse_edges, bool(const Csr& a, const Tensor& ids));

// select_rows.h; row_ptr is the result's; edge_ids may be undefined; there are edges
RODEO_KERNEL(copy_rows, void(const Csr& a, const Tensor& rows, const Tensor& row_ptr, const Tensor& col,
                             const Tensor& edge_ids));

// graph_hash.h
RODEO_KERNEL(hash_values, std::uint64_t(const Tensor& values));  // i32 or i64; may be empty

// dense_csr.h; weight is undefined for an unweighted matrix
struct WeightedCsr {
  Csr csr;
  Tensor weight;
};
RODEO_KERNEL(dense_to_csr, WeightedCsr(const Tensor& x));  // x may be empty
RODEO_KERNEL(csr_to_dense, void(const Csr& a, const Tensor& weight, const Tensor& y));

}  // namespace rodeo::kernels
