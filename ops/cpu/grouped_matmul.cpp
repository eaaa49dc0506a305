#include "ops/cpu/gemm.h"

namespace rodeo::kernels::cpu {
namespace {

/// A block of a row of x, and a block of a weight.
template <class T>
struct Blocks {
  std::int64_t blocks, k, n;
  T* row(const Tensor& x, std::int64_t i, std::int64_t b) const {
    return x.data<T>() + i * x.dim(1) + b * (x.dim(1) / blocks);
  }
  T* weight(const Tensor& w, std::size_t s, std::int64_t b) const {
    return w.data<T>() + (static_cast<std::int64_t>(s) * blocks + b) * k * n;
  }
};

/// f(T{}) for the element type f32 or f64.
template <class F>
void dispatch_wide(DType dtype, const F& f) {
  dtype == DType::kF32 ? f(float{}) : f(double{});
}

}  // namespace

void grouped_matmul(const Tensor& x, const Tensor& w, bool transposed,
                    const std::vector<GroupedRows>& segments, const Tensor& y) {
  if (size_of(x.dtype()) == 2) {  // in f32, rounded once
    const Tensor wide = y.to(DType::kF32);
    grouped_matmul(x.to(DType::kF32), w.to(DType::kF32), transposed, segments, wide);
    return y.copy_from(wide.to(y.dtype()));
  }
  dispatch_wide(x.dtype(), [&]<class T>(T) {
    const std::int64_t blocks = w.dim(1);
    const Blocks<T> at{blocks, x.dim(1) / blocks, y.dim(1) / blocks};
    for (std::size_t s = 0; s < segments.size(); ++s)
      for (std::int64_t b = 0; b < blocks && segments[s].rows.rows > 0; ++b)
        gemm(false, transposed,
             Gemm<T>{.sizes = {segments[s].rows.rows, at.n, at.k},
                     .a = at.row(x, segments[s].rows.x_begin, b),
                     .lda = x.dim(1),
                     .b = at.weight(w, s, b),
                     .ldb = w.dim(3),
                     .beta = segments[s].adds ? T{1} : T{0},
                     .c = at.row(y, segments[s].rows.y_begin, b),
                     .ldc = y.dim(1)});
  });
}

void grouped_matmul_transposed(const Tensor& x, const Tensor& dy, const std::vector<RowSegment>& segments,
                               const Tensor& dw) {
  if (size_of(x.dtype()) == 2) {
    const Tensor wide = Tensor::empty(dw.shape());
    grouped_matmul_transposed(x.to(DType::kF32), dy.to(DType::kF32), segments, wide);
    return dw.copy_from(wide.to(dw.dtype()));
  }
  dispatch_wide(x.dtype(), [&]<class T>(T) {
    const Blocks<T> at{dw.dim(1), dw.dim(2), dw.dim(3)};
    for (std::size_t s = 0; s < segments.size(); ++s) {
      if (segments[s].rows == 0) {
        dw.slice(static_cast<std::int64_t>(s), static_cast<std::int64_t>(s) + 1).fill(0);
        continue;
      }
      for (std::int64_t b = 0; b < at.blocks; ++b)
        gemm(true, false,
             Gemm<T>{.sizes = {at.k, at.n, segments[s].rows},
                     .a = at.row(x, segments[s].x_begin, b),
                     .lda = x.dim(1),
                     .b = at.row(dy, segments[s].y_begin, b),
                     .ldb = dy.dim(1),
                     .beta = T{0},
                     .c = at.weight(dw, s, b),
                     .ldc = at.n});
    }
  });
}

}  // namespace rodeo::kernels::cpu
