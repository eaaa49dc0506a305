#include "ops/features.h"

#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/cpu/random_block.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

namespace {

void drop(const EntryList& list, std::int64_t cols, const Tensor& scale, double p, RandomKey key) {
  dispatch_float(list.x.dtype(), "drop_entries", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const auto *row = list.row.data<std::int32_t>(), *col = list.col.data<std::int32_t>();
    const T* xp = list.x.data<T>();
    const Sum* s = scale.defined() ? scale.data<Sum>() : nullptr;
    T* yp = list.y.data<T>();
    const auto keep = static_cast<Sum>(1 / (1 - p));
    const auto limit = static_cast<float>(p);
    const std::uint64_t seed = key.seed, stream = p > 0 ? key.stream_now() : 0;
    const std::int64_t n = list.x.numel();
#pragma omp parallel for if (n * 8 > kSerial)  // each entry is ten rounds of Philox
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlock, n - begin));
      float unit[kBlock];
      if (p > 0) random_entries(seed, stream, row + begin, col + begin, cols, count, unit);
      for (int k = 0; k < count; ++k) {
        const std::int64_t e = begin + k;
        Sum value = load(xp[e]);
        if (p > 0) value = unit[k] < limit ? Sum(0) : value * keep;
        if (s) value *= s[row[e]];
        yp[e] = T(value);
      }
    }
  });
}

}  // namespace

void drop_entries(const EntryList& a, const EntryList& b, std::int64_t cols, const Tensor& scale, double p,
                  RandomKey key) {
  for (const EntryList* list : {&a, &b})
    if (list->y.defined()) drop(*list, cols, scale, p, key);
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
