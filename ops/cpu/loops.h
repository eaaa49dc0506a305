/// Loops that CPU kernels share. CPU kernels are the reference: the plainest correct loops that are not slow.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace rodeo::kernels::cpu {

/// An element, converted to its accumulator type.
template <class T>
Accumulator<T> load(T value) {
  return static_cast<Accumulator<T>>(value);
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
