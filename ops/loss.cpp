#include "ops/loss.h"

#include "ops/checks.h"
#include "ops/kernels.h"

namespace rodeo {
namespace {

void check_targets(std::string_view op, const Tensor& scores, const Tensor& label, const Tensor& index) {
  check_matrix(op, "scores", scores);
  check(scores.dim(0) == 0 || scores.dim(1) >= 1, "[", op, "] scores must have at least one class, got ",
        scores.shape());
  check(label.defined() && label.dtype() == DType::kI64 && label.shape() == Shape{scores.dim(0)}, "[", op,
        "] label must be i64 [", scores.dim(0), "]");
  check(index.defined() && index.dtype() == DType::kI64 && index.rank() == 1, "[", op,
        "] index must be i64 [k]");
  check(label.device() == scores.device() && index.device() == scores.device(), "[", op,
        "] label and index must be on ", scores.device(), " as the scores are, got ", label.device(), " and ",
        index.device());
}

}  // namespace

Tensor log_softmax(const Tensor& x) {
  check_matrix("log_softmax", "x", x);
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::log_softmax.on(y.device())(x, y);
  return y;
}

Variable log_softmax(const Variable& x) {
  const Tensor y = log_softmax(x.value());
  return record("log_softmax", y, {x}, [y](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::log_softmax_backward.on(dx.device())(y, dy, dx);
    return std::vector{dx};
  });
}

Tensor nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index) {
  check_targets("nll_loss", logp, label, index);
  check(index.numel() > 0, "[nll_loss] index is empty: the mean over no node is undefined");
  const Tensor loss = Tensor::empty({}, logp.dtype(), logp.device());
  kernels::nll_loss.on(loss.device())(logp, label, index, loss);
  return loss;
}

Variable nll_loss(const Variable& logp, const Tensor& label, const Tensor& index) {
  return record("nll_loss", nll_loss(logp.value(), label, index), {logp}, [=](const Tensor& dloss) {
    const Tensor dlogp = Tensor::empty(logp.shape(), logp.dtype(), logp.device());
    kernels::nll_loss_backward.on(dlogp.device())(dloss, label, index, dlogp);
    return std::vector{dlogp};
  });
}

double accuracy(const Tensor& scores, const Tensor& label, const Tensor& index) {
  check_targets("accuracy", scores, label, index);
  if (index.numel() == 0) return 0;
  const std::int64_t correct = kernels::count_correct.on(scores.device())(scores, label, index);
  return static_cast<double>(correct) / static_cast<double>(index.numel());
}

}  // namespace rodeo
