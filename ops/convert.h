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

/// The row of every edge: i32 [edges].
Tensor edge_rows(const Adjacency& adj);

/// The edges of adj in its order; col shares adj's memory. The inverse of coo_to_csr.
EdgeList csr_to_coo(const Adjacency& adj);

/// A^T. Cached on adj: the first call builds it.
Transposed transpose(const Adjacency& adj);

/// A^T without edge_ids, which take 8 bytes an edge and are needed for edge weights only.
Adjacency transpose_pattern(const Adjacency& adj);

/// A + I: inserts (i, i), in column order, into every row of a square matrix that has none. Rows must be
/// sorted by column, as coo_to_csr returns them; throws Error otherwise.
///   edge_ids: as in CooResult, positions in adj.
CooResult add_self_loops(const Adjacency& adj);

/// out[i] = values[ids[i]], or `missing` where ids[i] is -1.
///   values [m] or [m, n],  ids i64 [k]  ->  [k] or [k, n]
/// Throws Error when shapes or devices disagree. The range of ids is not checked.
Tensor take(const Tensor& values, const Tensor& ids, double missing = 0);

}  // namespace rodeo
