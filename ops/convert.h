/// Conversions between edge lists (COO) and CSR, transposes and self loops. They run on the device of their
/// input, give the same result on every device, and are not recorded for backward. They throw rodeo::Error
/// when shapes, dtypes or devices disagree.
#pragma once

#include <cstdint>

#include "core/adjacency.h"
#include "ops/convert_types.h"

namespace rodeo {

/// Converts an edge list to CSR. Edges are sorted by (row, column); equal edges keep the order of the input.
///   row, col  [E]  both i32 or both i64, on one device; CUDA uses a CUB radix sort
/// Throws rodeo::Error that names the first edge whose row is outside [0, rows) or whose column is outside
/// [0, cols), before anything is built. Throws too where self loops or symmetrize are set and rows != cols.
CooResult coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                     const CooOptions& options = {});

/// Checks a CSR matrix from outside the library and converts it to the result of coo_to_csr for its edges:
/// equal arrays, with every option. Where the rows are sorted by column and the options change no edge,
/// nothing is sorted or copied: the graph shares the memory of row_ptr and col, and edge_ids stays undefined,
/// because every edge keeps its position.
///   row_ptr  i64 [rows + 1]
///   col      i32 or i64 [edges]
/// Throws Error that names the first bad entry of row_ptr, or else of col, before anything is built.
CooResult sort_csr(const Tensor& row_ptr, const Tensor& col, std::int64_t rows, std::int64_t cols,
                   const CooOptions& options = {});

/// The row of every edge: i32 [edges].
Tensor edge_rows(const Adjacency& adj);

/// The edges of adj in its order; col shares adj's memory. The inverse of coo_to_csr.
EdgeList csr_to_coo(const Adjacency& adj);

/// A^T. Cached on adj: the first call builds it.
Transposed transpose(const Adjacency& adj);

/// A^T without edge_ids, which take 8 bytes an edge and are needed for edge weights only.
Adjacency transpose_pattern(const Adjacency& adj);

/// The number of edges (i, j), i != j, for which the pattern has no edge (j, i): 0 where it is symmetric, up
/// to parallel edges. One pass on the device of adj; waits for it. Not cached. Throws Error for a matrix that
/// is not square, or has a row that is not sorted by column.
std::int64_t count_one_way_edges(const Adjacency& adj);

/// A + I: inserts (i, i), in column order, into every row of a square matrix that has none. Rows must be
/// sorted by column, as coo_to_csr returns them; throws Error otherwise.
///   edge_ids: as in CooResult, positions in adj.
CooResult add_self_loops(const Adjacency& adj);
/// Adds the self loops of some rows of a square matrix, as one rank has them: row i is node first_row + i.
/// Throws Error where these nodes are not all among the columns.
CooResult add_self_loops(const Adjacency& adj, std::int64_t first_row);

/// out[i] = values[ids[i]], or `missing` where ids[i] is -1.
///   values [m] or [m, n],  ids i64 [k]  ->  [k] or [k, n]
/// Throws Error when shapes or devices disagree, and for ids outside [-1, m) as index_checks.h says.
Tensor take(const Tensor& values, const Tensor& ids, double missing = 0);

}  // namespace rodeo
