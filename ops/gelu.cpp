#include "ops/gelu.h"

#include "ops/checks.h"
#include "ops/kernels/dense.h"

namespace rodeo {

Tensor gelu(const Tensor& x) {
  check(x.defined() && is_float(x.dtype()), "[gelu] x must be floating point");
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::gelu.on(y.device())(x, y);
  return y;
}

Variable gelu(const Variable& x) {
  return record("gelu", gelu(x.value()), {x}, [x = x.saved()](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::gelu_backward.on(dx.device())(x.get(), dy, dx);
    return std::vector{dx};
  });
}

}  // namespace rodeo
