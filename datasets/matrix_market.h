/// Reads sparse matrices from Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace rodeo {

/// Entries in the order of the file, on the host. Symmetric and skew-symmetric files are expanded: every
/// entry off the diagonal is followed by its mirror image.
struct MatrixMarket {
  std::int64_t rows = 0, cols = 0;
  Tensor row, col;  // i32 [entries]  0-based, in any order; duplicates are kept
  Tensor value;     // f64 [entries]; undefined for a pattern file

  std::int64_t num_entries() const { return row.numel(); }
};

/// Reads a file, plain or gzip, in coordinate format: real, integer or pattern; general, symmetric or
/// skew-symmetric. coo_to_csr(m.row, m.col, m.rows, m.cols, {.edge_ids = true}) and take(m.value, edge_ids)
/// convert it to an Adjacency and its edge weights. Throws a one-line rodeo::Error with file and line for
/// array format, complex and hermitian matrices, values that are not finite, indices outside the matrix, more
/// or fewer entries than declared, and sizes above 2^31 - 1. Memory is bounded by the length of the text, not
/// by the declared size.
///   a.mtx: line 17: row 5 is outside [1, 4]
MatrixMarket read_matrix_market(const std::string& path);

/// Parses the text of a file; `name` is the prefix of error texts.
MatrixMarket parse_matrix_market(std::string_view text, const std::string& name);

}  // namespace rodeo
