/// Edge lists to CSR, and CSR to CSR. Deterministic: everything works on the device of its input, gives the
/// same result on every device, and records nothing. Throws rodeo::Error where shapes, dtypes or devices
/// disagree.
#pragma once

#include <cstdint>

#include "core/adjacency.h"

namespace rodeo {

enum class SelfLoops {
  kKeep,
  kDrop,
  kAdd,  // (i, i) for every node that has none
};

struct CooOptions {
  bool symmetrize = false;       // also (j, i) for every (i, j); implies drop_duplicates
  bool drop_duplicates = false;  // keep the first of equal edges
  SelfLoops self_loops = SelfLoops::kKeep;
  bool edge_ids = false;  // fill CooResult::edge_ids
};

struct CooResult {
  Adjacency adj;
  Tensor edge_ids;  // i64 [edges]: the position in the input of each edge; -1 for an added self loop
};

/// Sorts an edge list by (row, column), equal edges in the order of the input.
///   row, col  [E]  both i32 or both i64, on one device; on CUDA the work is done there (CUB radix sort)
/// The result is the same on every device.
/// Throws rodeo::Error naming the first edge whose row is outside [0, rows) or column outside [0, cols),
/// before anything is built; and where self loops or symmetrize are asked of a matrix that is not square.
CooResult coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                     const CooOptions& options = {});

/// The row of every edge: i32 [edges].
Tensor edge_rows(const Adjacency& adj);

struct EdgeList {
  Tensor row, col;  // i32 [edges]
};

/// The edges of adj in its order; col is adj's own memory. coo_to_csr takes them back.
EdgeList csr_to_coo(const Adjacency& adj);

struct Transposed {
  Adjacency adj;    // A^T, rows sorted by column; adj itself where the pattern is symmetric
  Tensor edge_ids;  // i64 [edges]: the edge of A that each edge of A^T is
};

/// A^T, kept on adj: the first call builds it, later ones are free.
Transposed transpose(const Adjacency& adj);

/// The same without edge_ids, which take 8 bytes an edge and serve weighted graphs only.
Adjacency transpose_pattern(const Adjacency& adj);

/// A + I: inserts (i, i), in column order, into every row of a square matrix that lacks it. Rows must be
/// sorted by column, as coo_to_csr leaves them; throws Error otherwise.
///   edge_ids: as in CooResult, relative to the edges of adj.
CooResult add_self_loops(const Adjacency& adj);

/// out[i] = values[ids[i]], or `missing` where ids[i] is -1.
///   values [m] or [m, n],  ids i64 [k]  ->  [k] or [k, n]
/// Throws Error for shapes or devices that disagree; ids are trusted.
Tensor take(const Tensor& values, const Tensor& ids, double missing = 0);

}  // namespace rodeo
