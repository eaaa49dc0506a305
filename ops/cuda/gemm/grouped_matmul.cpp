// Grouped products as one cuBLASLt product for each segment, in their order: segments that add to the same
// rows keep a fixed order. Blocks of a block-diagonal weight are a strided batch.
#include "ops/cuda/gemm/lt_matmul.h"

namespace rodeo::kernels::cuda {
namespace {

/// Columns of one block; the blocks are side by side in each row.
LtMatrix rows_of(const Tensor& x, std::int64_t first, std::int64_t blocks) {
  const std::int64_t ld = x.dim(1);
  auto* const begin =
      static_cast<char*>(x.raw()) + first * ld * static_cast<std::int64_t>(size_of(x.dtype()));
  return {begin, ld, ld / blocks};
}

LtMatrix weight_of(const Tensor& w, std::int64_t segment) {
  return {w.slice(segment, segment + 1).raw(), w.dim(3), w.dim(2) * w.dim(3)};
}

}  // namespace

void grouped_matmul(const Tensor& x, const Tensor& w, bool transposed,
                    const std::vector<GroupedRows>& segments, const Tensor& y) {
  const std::int64_t blocks = w.dim(1), k = x.dim(1) / blocks, n = y.dim(1) / blocks;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto& [rows, adds] = segments[s];
    if (rows.rows == 0) continue;
    lt_matmul({.a = rows_of(x, rows.x_begin, blocks),
               .b = weight_of(w, static_cast<std::int64_t>(s)),
               .c = rows_of(y, rows.y_begin, blocks),
               .dtype = x.dtype(),
               .out = y.dtype(),
               .batch = blocks},
              false, transposed, {rows.rows, n, k}, adds, y.device());
  }
}

void grouped_matmul_transposed(const Tensor& x, const Tensor& dy, const std::vector<RowSegment>& segments,
                               const Tensor& dw) {
  const std::int64_t blocks = dw.dim(1);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto at = static_cast<std::int64_t>(s);
    const RowSegment& rows = segments[s];
    if (rows.rows == 0) {
      dw.slice(at, at + 1).fill(0);
      continue;
    }
    lt_matmul({.a = rows_of(x, rows.x_begin, blocks),
               .b = rows_of(dy, rows.y_begin, blocks),
               .c = weight_of(dw, at),
               .dtype = x.dtype(),
               .out = dw.dtype(),
               .batch = blocks},
              true, false, {dw.dim(2), dw.dim(3), rows.rows}, false, dw.device());
  }
}

}  // namespace rodeo::kernels::cuda
