#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

void gather_rows(const Tensor& x, const Tensor& index, const Tensor& y) {
  dispatch_float(x.dtype(), "gather_rows", [&]<class T>(T) {
    const T* from = x.data<T>();
    const auto* row = index.data<std::int64_t>();
    T* to = y.data<T>();
    const std::int64_t n = y.numel() / index.numel();
    for_each_row(index.numel(), n, [=](std::int64_t i) { std::copy_n(from + row[i] * n, n, to + i * n); });
  });
}

}  // namespace rodeo::kernels::cpu
