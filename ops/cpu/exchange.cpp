#include "ops/kernels/exchange.h"
#include "ops/cpu/loops.h"

namespace rodeo::kernels::cpu {

void scatter_rows(const Tensor& x, const Tensor& index, const Tensor& y) {
  dispatch_float(x.dtype(), "scatter_rows", [&]<class T>(T) {
    const T* from = x.data<T>();
    const auto* row = index.data<std::int64_t>();
    T* to = y.data<T>();
    const std::int64_t n = x.numel() / index.numel();
    for_each_row(index.numel(), n, [=](std::int64_t i) { std::copy_n(from + i * n, n, to + row[i] * n); });
  });
}

void split_columns(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "split_columns", [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const std::int64_t m = x.dim(0), n = x.dim(1), parts = y.dim(0), w = y.dim(2);
    for_each_row(m, n, [=](std::int64_t i) {
      for (std::int64_t p = 0; p < parts; ++p)
        for (std::int64_t j = 0; j < w; ++j)
          to[(p * m + i) * w + j] = p * w + j < n ? from[i * n + p * w + j] : T(0);
    });
  });
}

void join_columns(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "join_columns", [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const std::int64_t m = y.dim(0), n = y.dim(1), w = x.dim(2);
    for_each_row(m, n, [=](std::int64_t i) {
      for (std::int64_t c = 0; c < n; ++c) to[i * n + c] = from[(c / w * m + i) * w + c % w];
    });
  });
}

}  // namespace rodeo::kernels::cpu
