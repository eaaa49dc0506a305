/// Reading sparse matrices from Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace rodeo {

/// Entries in the order of the file, on the host. Of a symmetric or skew-symmetric file, every entry off the
/// diagonal is followed by its mirror image: what is here is the whole matrix.
struct MatrixMarket {
  std::int64_t rows = 0, cols = 0;
  Tensor row, col;  // i32 [entries]  0-based, in any order; repeated entries are kept
  Tensor value;     // f64 [entries]; undefined for a pattern file

  std::int64_t num_entries() const { return row.numel(); }
};

/// Reads a file in coordinate format: real, integer or pattern; general, symmetric or skew-symmetric. With
/// coo_to_csr(m.row, m.col, m.rows, m.cols, {.edge_ids = true}) and take(m.value, edge_ids) it becomes an
/// Adjacency and its weights.
/// Throws rodeo::Error of one line that names file, line and what was expected, for anything else: array
/// format, complex and hermitian matrices, numbers that are not finite, ids outside the matrix, more or fewer
/// entries than announced, sizes past 2^31 - 1. Memory follows the length of the file, not what it announces.
///   a.mtx: line 17: row 5 is outside [1, 4]
MatrixMarket read_matrix_market(const std::string& path);

/// The same for the text of a file; `name` is how errors begin.
MatrixMarket parse_matrix_market(std::string_view text, const std::string& name);

}  // namespace rodeo
