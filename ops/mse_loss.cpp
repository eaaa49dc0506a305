#include "ops/mse_loss.h"

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"

namespace rodeo {
namespace {

void check_inputs(const Tensor& x, const Tensor& target, const Tensor& index) {
  check(x.defined(), "[mse_loss] x is undefined");
  check(x.rank() == 1 || x.rank() == 2, "[mse_loss] x must be [nodes] or [nodes, c], got ", x.shape());
  check(is_float(x.dtype()), "[mse_loss] x must be floating point, got ", x.dtype());
  check_alike("mse_loss", "x", x, "target", target);
  check_shape("mse_loss", "target", target, x.shape());
  if (!index.defined()) return check(x.numel() > 0, "[mse_loss] x is empty: the mean is undefined");
  check(index.dtype() == DType::kI64 && index.rank() == 1, "[mse_loss] index must be i64 [k]");
  check(index.device() == x.device(), "[mse_loss] index must be on ", x.device(), " as x is, got ",
        index.device());
  check(index.numel() > 0, "[mse_loss] index is empty: the mean over no node is undefined");
  check(x.rank() == 1 || x.dim(1) > 0, "[mse_loss] x has no column: the mean is undefined");
  check_indices("mse_loss", "index", index, x.dim(0));
}

}  // namespace

Tensor mse_loss(const Tensor& x, const Tensor& target, const Tensor& index) {
  check_inputs(x, target, index);
  const Tensor loss = Tensor::empty({}, sum_dtype(x.dtype()), x.device());
  kernels::mse_loss.on(x.device())(x, target, index, loss);
  return loss;
}

Variable mse_loss(const Variable& x, const Tensor& target, const Tensor& index) {
  return record("mse_loss", mse_loss(x.value(), target, index), {x}, [=](const Tensor& dloss) {
    const Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (dx.numel() > 0) kernels::mse_loss_backward.on(dx.device())(dloss, x.value(), target, index, dx);
    return std::vector{dx};
  });
}

}  // namespace rodeo
