#include "ops/regression_loss.h"

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"

namespace rodeo {
namespace {

const char* name(Difference difference) {
  return difference == Difference::kSquare ? "mse_loss" : "l1_loss";
}

void check_inputs(const char* op, const Tensor& x, const Tensor& target, const Tensor& index) {
  check(x.defined(), "[", op, "] x is undefined");
  check(x.rank() == 1 || x.rank() == 2, "[", op, "] x must be [nodes] or [nodes, c], got ", x.shape());
  check(is_float(x.dtype()), "[", op, "] x must be floating point, got ", x.dtype());
  check_alike(op, "x", x, "target", target);
  check_shape(op, "target", target, x.shape());
  if (!index.defined()) return check(x.numel() > 0, "[", op, "] x is empty: the mean is undefined");
  check(index.dtype() == DType::kI64 && index.rank() == 1, "[", op, "] index must be i64 [k]");
  check(index.device() == x.device(), "[", op, "] index must be on ", x.device(), " as x is, got ",
        index.device());
  check(index.numel() > 0, "[", op, "] index is empty: the mean over no node is undefined");
  check(x.rank() == 1 || x.dim(1) > 0, "[", op, "] x has no column: the mean is undefined");
  check_indices(op, "index", index, x.dim(0));
}

Tensor forward(Difference difference, const Tensor& x, const Tensor& target, const Tensor& index) {
  check_inputs(name(difference), x, target, index);
  const Tensor loss = Tensor::empty({}, sum_dtype(x.dtype()), x.device());
  kernels::regression_loss.on(x.device())(difference, x, target, index, loss);
  return loss;
}

Variable forward(Difference difference, const Variable& x, const Tensor& target, const Tensor& index) {
  return record(
      name(difference), forward(difference, x.value(), target, index), {x}, [=](const Tensor& dloss) {
        const Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
        if (dx.numel() > 0)
          kernels::regression_loss_backward.on(dx.device())(difference, dloss, x.value(), target, index, dx);
        return std::vector{dx};
      });
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, const Tensor& index) {
  return forward(Difference::kSquare, x, target, index);
}
Variable mse_loss(const Variable& x, const Tensor& target, const Tensor& index) {
  return forward(Difference::kSquare, x, target, index);
}
Tensor l1_loss(const Tensor& x, const Tensor& target, const Tensor& index) {
  return forward(Difference::kAbsolute, x, target, index);
}
Variable l1_loss(const Variable& x, const Tensor& target, const Tensor& index) {
  return forward(Difference::kAbsolute, x, target, index);
}

}  // namespace rodeo
