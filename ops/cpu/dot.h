/// The inner product of CPU kernels.
#pragma once

#include "ops/cpu/loops.h"

namespace rodeo::kernels::cpu {

template <class T>
Accumulator<T> inner_product(const T* a, const T* b, std::int64_t k) {
  Accumulator<T> sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < k; ++j) sum = multiply_add(load(a[j]), load(b[j]), sum);
  return sum;
}

}  // namespace rodeo::kernels::cpu
