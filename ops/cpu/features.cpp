#include "ops/features.h"

#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/cpu/random_block.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

void drop_entries(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed) {
  dispatch_float(x.dtype(), "drop_entries", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const auto *rows = row.data<std::int32_t>(), *col = a.col.data<std::int32_t>();
    const auto* places = place.data<std::int64_t>();
    const T* xp = x.data<T>();
    const Sum* s = scale.defined() ? scale.data<Sum>() : nullptr;
    T *yp = y.defined() ? y.data<T>() : nullptr, *tp = transposed.defined() ? transposed.data<T>() : nullptr;
    const auto keep = static_cast<Sum>(1 / (1 - p));
    const auto limit = static_cast<float>(p);
    const std::uint64_t seed = key.seed, stream = p > 0 ? key.stream_now() : 0;
    const std::int64_t n = x.numel(), cols = a.cols;
#pragma omp parallel for if (n * 8 > kSerial)  // each entry is ten rounds of Philox
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlock, n - begin));
      float unit[kBlock];
      if (p > 0)
        random_entries(seed, stream, rows + begin, col + begin, cols, key.first_row * cols, count, unit);
      for (int k = 0; k < count; ++k) {
        const std::int64_t e = begin + k;
        Sum value = load(xp[e]);
        if (p > 0) value = unit[k] < limit ? Sum(0) : value * keep;
        if (s) value *= s[rows[e]];
        if (yp) yp[e] = T(value);
        if (tp) tp[places[e]] = T(value);
      }
    }
  });
}

void normalize_entries(const Csr& a, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "normalize_entries", [&]<class T>(T) {
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    for_each_row(a.rows, x.numel() / a.rows, [=](std::int64_t i) {
      Accumulator<T> sum = 0;
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) sum += std::abs(load(xp[e]));
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
        yp[e] = T(sum == 0 ? sum : load(xp[e]) / sum);
    });
  });
}

}  // namespace rodeo::kernels::cpu
