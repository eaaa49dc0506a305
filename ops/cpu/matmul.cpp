#include <cblas.h>

#include <limits>

#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

// Row-major C = op(A) op(B) by OpenBLAS. 16-bit floats go through f32.
void matmul(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes, const Tensor& c) {
  if (size_of(a.dtype()) == 2) {
    const Tensor wide = Tensor::empty(c.shape(), DType::kF32);
    matmul(a.to(DType::kF32), b.to(DType::kF32), ta, tb, sizes, wide);
    c.copy_from(wide.to(c.dtype()));
    return;
  }
  if (sizes.k == 0) return c.fill(0);
  for (const std::int64_t size : {sizes.m, sizes.k, a.dim(1), b.dim(1), c.dim(1)})
    check(size <= std::numeric_limits<blasint>::max(), "[matmul] OpenBLAS takes sizes up to ",
          std::numeric_limits<blasint>::max(), ", got ", size);
  const auto m = static_cast<blasint>(sizes.m), n = static_cast<blasint>(sizes.n),
             k = static_cast<blasint>(sizes.k);
  const auto lda = static_cast<blasint>(a.dim(1)), ldb = static_cast<blasint>(b.dim(1)),
             ldc = static_cast<blasint>(c.dim(1));
  const CBLAS_TRANSPOSE opa = ta ? CblasTrans : CblasNoTrans, opb = tb ? CblasTrans : CblasNoTrans;
  if (a.dtype() == DType::kF64)
    cblas_dgemm(CblasRowMajor, opa, opb, m, n, k, 1, a.data<double>(), lda, b.data<double>(), ldb, 0,
                c.data<double>(), ldc);
  else
    cblas_sgemm(CblasRowMajor, opa, opb, m, n, k, 1, a.data<float>(), lda, b.data<float>(), ldb, 0,
                c.data<float>(), ldc);
}

}  // namespace rodeo::kernels::cpu
