#include "ops/scale_rows.h"

#include "ops/checks.h"
#include "ops/kernels/dense.h"

namespace rodeo {

Tensor scale_rows(const Tensor& x, const Tensor& s) {
  check_matrix("scale_rows", "x", x);
  check_beside("scale_rows", "x", x, "s", s);
  check_shape("scale_rows", "s", s, {x.dim(0)});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::scale_rows.on(y.device())(x, s.to(sum_dtype(x.dtype())), y);
  return y;
}

Variable scale_rows(const Variable& x, const Tensor& s) {
  return record("scale_rows", scale_rows(x.value(), s), {x},
                [s](const auto& dy) { return std::vector{scale_rows(dy, s)}; });
}

Tensor normalize_rows(const Tensor& x) {
  check_matrix("normalize_rows", "x", x);
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::normalize_rows.on(y.device())(x, y);
  return y;
}

}  // namespace rodeo
