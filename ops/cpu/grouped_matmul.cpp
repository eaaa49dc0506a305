#include "ops/cpu/gemm.h"

namespace rodeo::kernels::cpu {
namespace {

/// Blocks of rows of arrays, and of weights.
template <class T>
struct Blocks {
  std::int64_t blocks, k, n;
  T* row(const Tensor& x, std::int64_t i, std::int64_t b) const {
    return x.data<T>() + i * x.dim(1) + b * (x.dim(1) / blocks);
  }
  T* weight(const Tensor& w, std::int64_t matrix, std::int64_t b) const {
    return w.data<T>() + (matrix * blocks + b) * k * n;
  }
  /// How many matrices of a segment one product has: without blocks they are one tall matrix.
  std::int64_t step(const RowSegment& rows) const { return blocks == 1 ? rows.fold : 1; }
};

/// f(T{}) for the element type f32 or f64.
template <class F>
void dispatch_wide(DType dtype, const F& f) {
  dtype == DType::kF32 ? f(float{}) : f(double{});
}

}  // namespace

void grouped_matmul(const Tensor& x, const Tensor& w, bool transposed,
                    const std::vector<GroupedRows>& segments, const Tensor& bias, const Tensor& y) {
  if (size_of(x.dtype()) == 2) {  // in f32, rounded once
    const Tensor wide = y.to(DType::kF32);
    grouped_matmul(x.to(DType::kF32), w.to(DType::kF32), transposed, segments, bias, wide);
    return y.copy_from(wide.to(y.dtype()));
  }
  dispatch_wide(x.dtype(), [&]<class T>(T) {
    const std::int64_t blocks = w.dim(1);
    const Blocks<T> at{blocks, x.dim(1) / blocks, y.dim(1) / blocks};
    std::int64_t matrix = 0;
    for (std::size_t s = 0; s < segments.size(); matrix += segments[s++].rows.fold) {
      const auto& [rows, adds] = segments[s];
      const std::int64_t step = at.step(rows), of_x = transposed ? 1 : rows.fold,
                         of_y = transposed ? rows.fold : 1;
      for (std::int64_t f = 0; f < rows.fold && rows.rows > 0; f += step)
        for (std::int64_t b = 0; b < blocks; ++b)
          gemm(false, transposed,
               Gemm<T>{.sizes = {rows.rows, transposed ? step * at.n : at.n, transposed ? at.k : step * at.k},
                       .a = at.row(x, rows.x_begin + (transposed ? 0 : f), b),
                       .lda = of_x * x.dim(1),
                       .b = at.weight(w, matrix + f, b),
                       .ldb = w.dim(3),
                       .beta = adds || (f > 0 && !transposed) ? T{1} : T{0},
                       .c = at.row(y, rows.y_begin + (transposed ? f : 0), b),
                       .ldc = of_y * y.dim(1)});
      if (!bias.defined() || rows.rows == 0) continue;
      const Tensor part = side_by_side(y, rows.y_begin, rows.rows, of_y);
      add_bias(part, joined_rows(bias, transposed ? matrix : static_cast<std::int64_t>(s), of_y), part);
    }
  });
}

void grouped_matmul_transposed(const Tensor& x, const Tensor& dy, const std::vector<RowSegment>& segments,
                               const Tensor& dw, const Tensor& db) {
  if (size_of(x.dtype()) == 2) {
    const Tensor wide = Tensor::empty(dw.shape());
    grouped_matmul_transposed(x.to(DType::kF32), dy.to(DType::kF32), segments, wide, db);
    return dw.copy_from(wide.to(dw.dtype()));
  }
  dispatch_wide(x.dtype(), [&]<class T>(T) {
    const Blocks<T> at{dw.dim(1), dw.dim(2), dw.dim(3)};
    std::int64_t matrix = 0;
    for (std::size_t s = 0; s < segments.size(); matrix += segments[s++].fold) {
      const RowSegment& rows = segments[s];
      if (db.defined())
        sum_rows(side_by_side(dy, rows.y_begin, rows.rows), joined_rows(db, static_cast<std::int64_t>(s)));
      if (rows.rows == 0) {
        dw.slice(matrix, matrix + rows.fold).fill(0);
        continue;
      }
      const std::int64_t step = at.step(rows);
      for (std::int64_t f = 0; f < rows.fold; f += step)
        for (std::int64_t b = 0; b < at.blocks; ++b)
          gemm(true, false,
               Gemm<T>{.sizes = {step * at.k, at.n, rows.rows},
                       .a = at.row(x, rows.x_begin + f, b),
                       .lda = rows.fold * x.dim(1),
                       .b = at.row(dy, rows.y_begin, b),
                       .ldb = dy.dim(1),
                       .beta = T{0},
                       .c = at.weight(dw, matrix + f, b),
                       .ldc = at.n});
    }
  });
}

}  // namespace rodeo::kernels::cpu
