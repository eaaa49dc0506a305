#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

void gather_rows(const Tensor& x, const RowCache& cache, const Tensor& index, const Tensor& y) {
  dispatch_float(x.dtype(), "gather_rows", [&]<class T>(T) {
    const T *from = x.data<T>(), *cached = cache.defined() ? cache.rows.data<T>() : nullptr;
    const std::int32_t* slot = cached ? cache.slot.data<std::int32_t>() : nullptr;
    const auto* row = index.data<std::int64_t>();
    T* to = y.data<T>();
    const std::int64_t n = y.numel() / index.numel();
    for_each_row(index.numel(), n, [=](std::int64_t i) {
      const std::int64_t at = slot ? slot[row[i]] : -1;
      std::copy_n(at >= 0 ? cached + at * n : from + row[i] * n, n, to + i * n);
    });
  });
}

}  // namespace rodeo::kernels::cpu
