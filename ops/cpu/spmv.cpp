#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

void spmv_vector(const Csr& a, const Tensor& weight, const Tensor& x, int /*threads_per_vector*/,
                 const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class T>(T) {
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    const auto* col = a.col.data<std::int32_t>();
    const T *w = weight.defined() ? weight.data<T>() : nullptr, *in = x.data<T>();
    T* out = y.data<T>();
#pragma omp parallel for schedule(dynamic, 256) if (a.col.numel() > kSerial)
    for (std::int64_t row = 0; row < a.rows; ++row) {
      Accumulator<T> sum = 0;
      // Long rows are summed in pieces, so that the rounding error does not grow with the row length.
      for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1];) {
        const std::int64_t end = std::min(row_ptr[row + 1], e + RodePlan::kSplit);
        Accumulator<T> piece = 0;
        if (w)
          for (; e < end; ++e) piece += load(w[e]) * load(in[col[e]]);
        else
          for (; e < end; ++e) piece += load(in[col[e]]);
        sum += piece;
      }
      out[row] = T(sum);
    }
  });
}

void spmv_rode(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  spmm_rode(a, plan, Accumulate::kOrdered, weight, x, y);  // of one column
}

SpmvTiles spmv_tiles(const Csr& a, SpmvTileSize size) {
  const std::int64_t cuts = size.count(a.rows, a.col.numel()) + 1;
  SpmvTiles tiles{size, Tensor::empty({cuts}, DType::kI64), Tensor::empty({cuts}, DType::kI64)};
  for (std::int64_t i = 0; i < cuts; ++i) {
    const SpmvTiles::Cut cut = SpmvTiles::cut(a.row_ptr.data<std::int64_t>(), a.rows, size, i);
    tiles.begin.data<std::int64_t>()[i] = cut.begin;
    tiles.row.data<std::int64_t>()[i] = cut.row;
  }
  return tiles;
}

void spmv_stream(const Csr& a, const SpmvTiles& /*tiles*/, const Tensor& weight, const Tensor& x,
                 const Tensor& y) {
  spmv_vector(a, weight, x, 0, y);
}

std::int64_t longest_row(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  std::int64_t longest = 0;
#pragma omp parallel for reduction(max : longest) if (a.rows > kSerial)
  for (std::int64_t row = 0; row < a.rows; ++row)
    longest = std::max(longest, row_ptr[row + 1] - row_ptr[row]);
  return longest;
}

}  // namespace rodeo::kernels::cpu
