#include "ops/validate.h"

#include "ops/checks.h"
#include "ops/kernels/graph.h"

namespace rodeo {

std::int64_t first_outside(const Tensor& ids, std::int64_t limit) {
  check(ids.defined() && ids.rank() == 1 && (ids.dtype() == DType::kI64 || ids.dtype() == DType::kI32),
        "[first_outside] ids must be i32 or i64 [n]");
  return kernels::first_out_of_range.on(ids.device())(ids, limit);
}

std::int64_t first_not_finite(const Tensor& values) {
  check(values.defined() && is_float(values.dtype()), "[first_not_finite] values must be floating point");
  return kernels::first_not_finite.on(values.device())(values);
}

CsrScan scan_csr(const Tensor& row_ptr, const Tensor& col, std::int64_t cols) {
  check(row_ptr.defined() && row_ptr.dtype() == DType::kI64 && row_ptr.rank() == 1 && row_ptr.numel() >= 1,
        "[scan_csr] row_ptr must be i64 [rows + 1]");
  check(col.defined() && col.dtype() == DType::kI32 && col.rank() == 1, "[scan_csr] col must be i32 [edges]");
  check(col.device() == row_ptr.device(), "[scan_csr] col must be on ", row_ptr.device(),
        " as row_ptr is, got ", col.device());
  return kernels::scan_csr.on(col.device())({row_ptr.numel() - 1, cols, row_ptr, col});
}

}  // namespace rodeo
