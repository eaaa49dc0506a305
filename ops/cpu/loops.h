/// Loops that CPU kernels share. CPU kernels are the reference: the plainest correct loops that are not slow.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace rodeo::kernels::cpu {

/// An element, converted to its accumulator type.
template <class T>
Accumulator<T> load(T value) {
  return static_cast<Accumulator<T>>(value);
}

/// a * b + c, rounded once where the processor has an instruction for it. The compiler does not form it by
/// itself (cmake/Compile.cmake). For loops that take 5 % longer without.
template <class T>
T multiply_add(T a, T b, T c) {
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Rows are prefetched for the edge that is this many edges ahead, usually one of a following row.
constexpr std::int64_t kAhead = 8;
template <class T>
void prefetch(const T* from, std::int64_t count) {
  for (std::int64_t j = 0; j < count; j += 64 / static_cast<std::int64_t>(sizeof(T)))
    __builtin_prefetch(from + j);
}

/// Below this many elements one thread is faster than several.
constexpr std::int64_t kSerial = 16384;

/// out[i] = f(i) for all elements.
template <class F>
void for_each_element(std::int64_t n, F&& f) {
#pragma omp parallel for if (n > kSerial)
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

/// f(row) for all rows. Each row has n elements.
template <class F>
void for_each_row(std::int64_t rows, std::int64_t n, F&& f) {
#pragma omp parallel for if (rows * n > kSerial)
  for (std::int64_t i = 0; i < rows; ++i) f(i);
}

}  // namespace rodeo::kernels::cpu
