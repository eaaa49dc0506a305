#include "ops/features.h"

#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {
namespace {

/// random_word() without an index that the compiler would have to load by.
std::uint32_t entry_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const Philox4 words = philox(seed, stream, index >> 2);
  const std::uint32_t low = index & 1 ? words.word[1] : words.word[0];
  const std::uint32_t high = index & 1 ? words.word[3] : words.word[2];
  return index & 2 ? high : low;
}

}  // namespace

void drop_entries(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed) {
  dispatch_float(x.dtype(), "drop_entries", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    constexpr std::int64_t kBatch = 64;
    const auto *rows = row.data<std::int32_t>(), *col = a.col.data<std::int32_t>();
    const auto* places = place.data<std::int64_t>();
    const T *xp = x.data<T>(), *s = scale.defined() ? scale.data<T>() : nullptr;
    T *yp = y.defined() ? y.data<T>() : nullptr, *tp = transposed.defined() ? transposed.data<T>() : nullptr;
    const auto keep = static_cast<Sum>(1 / (1 - p));
    const auto limit = static_cast<float>(p);
    const std::uint64_t seed = key.seed, stream = p > 0 ? key.stream_now() : 0;
    const std::int64_t n = x.numel(), cols = a.cols;
#pragma omp parallel for if (n * 8 > kSerial)  // each entry is ten rounds of Philox
    for (std::int64_t begin = 0; begin < n; begin += kBatch) {
      const std::int64_t count = std::min(kBatch, n - begin);
      float unit[kBatch];
      if (p > 0) {
#pragma omp simd
        for (std::int64_t k = 0; k < count; ++k) {
          const std::int64_t e = begin + k;
          unit[k] = to_unit(entry_word(seed, stream, static_cast<std::uint64_t>(rows[e] * cols + col[e])));
        }
      }
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t e = begin + k;
        Sum value = load(xp[e]);
        if (p > 0) value = unit[k] < limit ? Sum(0) : value * keep;
        if (s) value *= load(s[rows[e]]);
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
