/// Matrix products of parts of arrays, by OpenBLAS.
#pragma once

#include "ops/kernels/dense.h"

namespace rodeo::kernels::cpu {

/// Row-major C = op(A) op(B) + beta C; lda, ldb and ldc: the length of a row in memory.
template <class T>
struct Gemm {
  MatmulSizes sizes;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
};
/// `ta`, `tb`: op is the transpose. Throws Error for sizes that OpenBLAS does not take.
void gemm(bool ta, bool tb, const Gemm<float>& g);
void gemm(bool ta, bool tb, const Gemm<double>& g);

}  // namespace rodeo::kernels::cpu
