/// Options and results of graph conversions (ops/convert.h), which contracts and kernel signatures share.
#pragma once

#include "core/adjacency.h"

namespace rodeo {

enum class SelfLoops {
  kKeep,
  kDrop,
  kAdd,  // (i, i) for every node that has none
};

struct CooOptions {
  bool symmetrize = false;       // adds (j, i) for every (i, j); implies drop_duplicates
  bool drop_duplicates = false;  // keeps the first of equal edges
  SelfLoops self_loops = SelfLoops::kKeep;
  bool edge_ids = false;  // fills CooResult::edge_ids
};

struct CooResult {
  Adjacency adj;
  Tensor edge_ids;  // i64 [edges]: the position of each edge in the input; -1 for an added self loop
};

/// Where dense_to_csr adds up the nonzeros of the rows of a matrix on a GPU. The result is the same.
enum class RowScan {
  kDevice,
  kHost,  // the published form: copies the counts to the host and their sums back
};

/// What a scan of a CSR matrix found (ops/validate.h).
struct CsrScan {
  std::int64_t bad_row_ptr;  // first i where row_ptr is not 0, not the number of edges, or decreases; else -1
  std::int64_t bad_col;      // first edge whose column is outside [0, cols), or -1
  // Without meaning where row_ptr is bad:
  bool sorted;   // every row is sorted by column
  bool repeats;  // some row has the same column twice, side by side
};

struct EdgeList {
  Tensor row, col;  // i32 [edges]
};

struct Transposed {
  Adjacency adj;    // A^T, rows sorted by column; A itself where the pattern is symmetric
  Tensor edge_ids;  // i64 [edges]: for each edge of A^T its position in A
};

}  // namespace rodeo
