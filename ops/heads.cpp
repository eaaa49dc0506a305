#include "ops/heads.h"

#include "ops/checks.h"
#include "ops/kernels/attention.h"

namespace rodeo {
namespace {

void check_heads(std::string_view op, const Tensor& x) {
  check(x.defined(), "[", op, "] x is undefined");
  check(x.rank() == 3, "[", op, "] x must be [n, heads, k], got ", x.shape());
  check(is_float(x.dtype()), "[", op, "] x must be floating point, got ", x.dtype());
}

void check_vectors(std::string_view op, std::string_view name, const Tensor& x, const Tensor& a) {
  check_beside(op, "x", x, name, a);
  check_shape(op, name, a, {x.dim(1), x.dim(2)});
}

}  // namespace

Tensor head_dot(const Tensor& x, const Tensor& a) {
  check_heads("head_dot", x);
  check_vectors("head_dot", "a", x, a);
  const Tensor y = Tensor::empty({x.dim(0), x.dim(1)}, x.dtype(), x.device());
  if (x.dim(2) == 0) y.fill(0);
  if (x.numel() > 0) kernels::head_dot.on(y.device())(x, a.to(sum_dtype(x.dtype())), y, {}, {});
  return y;
}

std::pair<Tensor, Tensor> head_dots(const Tensor& x, const Tensor& a, const Tensor& b) {
  check_heads("head_dots", x);
  check_vectors("head_dots", "a", x, a);
  check_vectors("head_dots", "b", x, b);
  const Shape shape{x.dim(0), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device()),
               z = Tensor::empty(shape, x.dtype(), x.device());
  if (x.dim(2) == 0) y.fill(0), z.fill(0);
  const DType wide = sum_dtype(x.dtype());
  if (x.numel() > 0) kernels::head_dot.on(y.device())(x, a.to(wide), y, b.to(wide), z);
  return {y, z};
}

Variable head_dot(const Variable& x, const Variable& a) {
  return record("head_dot", head_dot(x.value(), a.value()), {x, a}, [=](const Tensor& dy) {
    const Tensor& xv = x.value();
    const Tensor av = a.value().to(sum_dtype(xv.dtype()));
    Tensor dx, da;
    if (x.requires_grad()) {
      dx = Tensor::empty(xv.shape(), xv.dtype(), xv.device());
      if (dx.numel() > 0) kernels::head_outer.on(dx.device())(dy, av, {}, {}, dx);
    }
    if (a.requires_grad()) {
      da = Tensor::empty(av.shape(), av.dtype(), av.device());
      if (da.numel() > 0) kernels::head_dot_sum.on(da.device())(dy, xv, da, {}, {});
    }
    return std::vector{dx, da.to(a.dtype())};
  });
}

Tensor head_mean(const Tensor& x) {
  check_heads("head_mean", x);
  check(x.dim(1) >= 1, "[head_mean] x must have heads, got ", x.shape());
  if (x.dim(1) == 1) return x.reshape({x.dim(0), x.dim(2)});
  const Tensor y = Tensor::empty({x.dim(0), x.dim(2)}, x.dtype(), x.device());
  if (y.numel() > 0) kernels::head_mean.on(y.device())(x, y);
  return y;
}

Variable head_mean(const Variable& x) {
  const Shape shape = x.shape();
  return record("head_mean", head_mean(x.value()), {x}, [shape](const Tensor& dy) {
    if (shape[1] == 1) return std::vector{dy.reshape(shape)};
    const Tensor dx = Tensor::empty(shape, dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::head_mean_backward.on(dx.device())(dy, dx);
    return std::vector{dx};
  });
}

}  // namespace rodeo
