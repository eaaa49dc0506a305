/// What the CPU kernels share. They are the reference: the dullest loops that are correct and not slow.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace rodeo::kernels::cpu {

/// An element as its accumulator type.
template <class T>
Accumulator<T> load(T value) {
  return static_cast<Accumulator<T>>(value);
}

/// Threads cost more than they bring below this many elements.
constexpr std::int64_t kSerial = 16384;

/// out[i] = f(i) for all elements.
template <class F>
void for_each_element(std::int64_t n, F&& f) {
#pragma omp parallel for if (n > kSerial)
  for (std::int64_t i = 0; i < n; ++i) f(i);
}

/// f(row) for all rows of n elements each.
template <class F>
void for_each_row(std::int64_t rows, std::int64_t n, F&& f) {
#pragma omp parallel for if (rows * n > kSerial)
  for (std::int64_t i = 0; i < rows; ++i) f(i);
}

}  // namespace rodeo::kernels::cpu
