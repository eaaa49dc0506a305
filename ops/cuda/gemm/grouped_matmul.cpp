// Grouped products as one product for each segment, in their order: segments that add to the same rows keep a
// fixed order. Long segments in f32 run the kernels of linear() on tensor cores, all others cuBLASLt, for
// which the blocks of a block-diagonal weight are a strided batch.
#include "core/context.h"
#include "ops/cuda/gemm/lt_matmul.h"
#include "ops/plan/linear_plan.h"

namespace rodeo::kernels::cuda {
namespace {

/// Columns of one block; the blocks are side by side in each row.
LtMatrix rows_of(const Tensor& x, std::int64_t first, std::int64_t blocks) {
  const std::int64_t ld = x.dim(1);
  auto* const begin =
      static_cast<char*>(x.raw()) + first * ld * static_cast<std::int64_t>(size_of(x.dtype()));
  return {begin, ld, blocks == 1 ? 0 : ld / blocks};
}

LtMatrix weight_of(const Tensor& w, std::int64_t segment) {
  return {w.slice(segment, segment + 1).raw(), w.dim(3), w.dim(1) == 1 ? 0 : w.dim(2) * w.dim(3)};
}

/// The kernels for a segment of x [rows, k] and w [k, n].
LinearPlan plan_segment(std::int64_t rows, std::int64_t k, std::int64_t n, const Tensor& x) {
  return plan_linear(
      {.rows = rows, .k = k, .n = n, .dtype = x.dtype(), .allow_tf32 = allow_tf32(), .x_requires_grad = true},
      Context::of(x.device()).properties());
}

Tensor slice_rows(const Tensor& x, std::int64_t begin, std::int64_t rows) {
  return x.slice(begin, begin + rows);
}

/// The matrix of one segment; there is one block.
Tensor matrix_of(const Tensor& w, std::size_t s) {
  const auto at = static_cast<std::int64_t>(s);
  return w.slice(at, at + 1).reshape({w.dim(2), w.dim(3)});
}

/// Whether a kernel of linear() ran.
bool run_tall(LinearKernel kernel, const DropoutInput& x, const Tensor& w, bool transposed, const Tensor& y) {
  if (kernel == LinearKernel::kMatmul) return false;
  if (kernel == LinearKernel::kWgmma)
    wgmma_matmul(x, w, transposed, {}, {}, y);
  else
    tall_matmul(x, w, transposed, {}, y);
  return true;
}

bool run_tall_transposed(LinearKernel kernel, const DropoutInput& x, const Tensor& dy, const Tensor& dw) {
  if (kernel == LinearKernel::kMatmul) return false;
  if (kernel == LinearKernel::kWgmma)
    wgmma_matmul_transposed(x, {}, dy, {}, dw, {});
  else
    tall_matmul_transposed(x, dy, dw, {});
  return true;
}

}  // namespace

void grouped_matmul(const Tensor& x, const Tensor& w, bool transposed,
                    const std::vector<GroupedRows>& segments, const Tensor& y) {
  const std::int64_t blocks = w.dim(1), k = x.dim(1) / blocks, n = y.dim(1) / blocks;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto& [rows, adds] = segments[s];
    if (rows.rows == 0) continue;
    if (blocks == 1 && !adds &&
        run_tall(plan_segment(rows.rows, k, n, x).forward, {.x = slice_rows(x, rows.x_begin, rows.rows)},
                 matrix_of(w, s), transposed, slice_rows(y, rows.y_begin, rows.rows)))
      continue;
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
    if (blocks == 1 && run_tall_transposed(plan_segment(rows.rows, dw.dim(2), dw.dim(3), x).dw,
                                           {.x = slice_rows(x, rows.x_begin, rows.rows)},
                                           slice_rows(dy, rows.y_begin, rows.rows), matrix_of(dw, s)))
      continue;
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
