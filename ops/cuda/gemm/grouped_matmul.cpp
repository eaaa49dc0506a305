// Grouped products as one product for each segment, in their order: segments that add to the same rows keep a
// fixed order. Long segments in f32 run the kernels of linear() on tensor cores, all others cuBLASLt, for
// which the blocks of a block-diagonal weight are a strided batch.
#include "core/context.h"
#include "core/elementwise.h"
#include "ops/cuda/gemm/lt_matmul.h"
#include "ops/plan/linear_plan.h"

namespace rodeo::kernels::cuda {
namespace {

/// Columns of one block; the blocks are side by side in each row. Every `step`-th row from `first` on.
LtMatrix rows_of(const Tensor& x, std::int64_t first, std::int64_t blocks, std::int64_t step = 1) {
  const std::int64_t columns = x.dim(1);
  auto* const begin =
      static_cast<char*>(x.raw()) + first * columns * static_cast<std::int64_t>(size_of(x.dtype()));
  return {begin, step * columns, blocks == 1 ? 0 : columns / blocks};
}

/// The blocks of one matrix, or where there are none the matrices from this one on as one tall matrix.
LtMatrix weight_of(const Tensor& w, std::int64_t matrix) {
  return {w.slice(matrix, matrix + 1).raw(), w.dim(3), w.dim(1) == 1 ? 0 : w.dim(2) * w.dim(3)};
}

/// How many matrices of a segment one product has.
std::int64_t step_of(const Tensor& w, const RowSegment& rows) {
  return w.dim(1) == 1 ? rows.fold : 1;
}

/// The kernels for a segment of x [rows, k] and w [k, n].
LinearPlan plan_segment(std::int64_t rows, std::int64_t k, std::int64_t n, const Tensor& x) {
  return plan_linear(
      {.rows = rows, .k = k, .n = n, .dtype = x.dtype(), .allow_tf32 = allow_tf32(), .x_requires_grad = true},
      Context::of(x.device()).properties());
}

/// The matrices of one segment, below one another; there is one block.
Tensor matrix_of(const Tensor& w, std::int64_t matrix, std::int64_t fold) {
  return w.slice(matrix, matrix + fold).reshape({fold * w.dim(2), w.dim(3)});
}

/// Whether a kernel of linear() ran. They do not add to y: with `adds` their product has memory of its own.
bool run_tall(LinearKernel kernel, const DropoutInput& x, const Tensor& w, bool transposed,
              const Tensor& bias, const Tensor& y, bool adds) {
  if (kernel == LinearKernel::kMatmul) return false;
  const Tensor product = adds ? Tensor::empty(y.shape(), y.dtype(), y.device()) : y;
  if (kernel == LinearKernel::kWgmma)
    wgmma_matmul(x, w, transposed, bias, {}, product);
  else
    tall_matmul(x, w, transposed, bias, product);
  if (adds) add_in_place(y, product);
  return true;
}

bool run_tall_transposed(LinearKernel kernel, const DropoutInput& x, const Tensor& dy, const Tensor& dw,
                         const Tensor& db) {
  if (kernel == LinearKernel::kMatmul) return false;
  if (kernel == LinearKernel::kWgmma)
    wgmma_matmul_transposed(x, {}, dy, {}, dw, db);
  else
    tall_matmul_transposed(x, dy, dw, db);
  return true;
}

}  // namespace

void grouped_matmul(const Tensor& x, const Tensor& w, bool transposed,
                    const std::vector<GroupedRows>& segments, const Tensor& bias, const Tensor& y) {
  const std::int64_t blocks = w.dim(1), k = x.dim(1) / blocks, n = y.dim(1) / blocks;
  std::int64_t matrix = 0;
  for (std::size_t s = 0; s < segments.size(); matrix += segments[s++].rows.fold) {
    const auto& [rows, adds] = segments[s];
    if (rows.rows == 0) continue;
    const std::int64_t step = step_of(w, rows), of_x = transposed ? 1 : rows.fold,
                       of_y = transposed ? rows.fold : 1;
    const MatmulSizes sizes{rows.rows, transposed ? step * n : n, transposed ? k : step * k};
    const Tensor b = joined_rows(bias, transposed ? matrix : static_cast<std::int64_t>(s), of_y);
    const Tensor part = side_by_side(y, rows.y_begin, rows.rows, of_y);
    if (blocks == 1 && run_tall(plan_segment(rows.rows, sizes.k, sizes.n, x).forward,
                                {.x = side_by_side(x, rows.x_begin, rows.rows, of_x)},
                                matrix_of(w, matrix, rows.fold), transposed, b, part, adds))
      continue;
    for (std::int64_t f = 0; f < rows.fold; f += step)
      lt_matmul({.a = rows_of(x, rows.x_begin + (transposed ? 0 : f), blocks, of_x),
                 .b = weight_of(w, matrix + f),
                 .c = rows_of(y, rows.y_begin + (transposed ? f : 0), blocks, of_y),
                 .dtype = x.dtype(),
                 .out = y.dtype(),
                 .batch = blocks},
                false, transposed, sizes, adds || (f > 0 && !transposed), y.device());
    if (b.defined()) add_bias(part, b, part);
  }
}

void grouped_matmul_transposed(const Tensor& x, const Tensor& dy, const std::vector<RowSegment>& segments,
                               const Tensor& dw, const Tensor& db) {
  const std::int64_t blocks = dw.dim(1);
  std::int64_t matrix = 0;
  for (std::size_t s = 0; s < segments.size(); matrix += segments[s++].fold) {
    const RowSegment& rows = segments[s];
    if (rows.rows == 0) {
      dw.slice(matrix, matrix + rows.fold).fill(0);
      continue;  // db begins with zeros
    }
    const std::int64_t step = step_of(dw, rows);
    const MatmulSizes sizes{step * dw.dim(2), dw.dim(3), rows.rows};
    const Tensor dy_rows = side_by_side(dy, rows.y_begin, rows.rows);
    if (blocks == 1 &&
        run_tall_transposed(plan_segment(rows.rows, sizes.m, sizes.n, x).dw,
                            {.x = side_by_side(x, rows.x_begin, rows.rows, rows.fold)}, dy_rows,
                            matrix_of(dw, matrix, rows.fold), joined_rows(db, static_cast<std::int64_t>(s))))
      continue;
    if (db.defined()) sum_rows(dy_rows, joined_rows(db, static_cast<std::int64_t>(s)));
    for (std::int64_t f = 0; f < rows.fold; f += step)
      lt_matmul({.a = rows_of(x, rows.x_begin + f, blocks, rows.fold),
                 .b = rows_of(dy, rows.y_begin, blocks),
                 .c = weight_of(dw, matrix + f),
                 .dtype = x.dtype(),
                 .out = dw.dtype(),
                 .batch = blocks},
                true, false, sizes, false, dw.device());
  }
}

}  // namespace rodeo::kernels::cuda
