#include "ops/bce.h"

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"

namespace rodeo {
namespace {

void check_targets(std::string_view op, const Tensor& x, const Tensor& target, const Tensor& index) {
  check_matrix(op, "x", x);
  check(x.dim(0) == 0 || x.dim(1) >= 1, "[", op, "] x must have at least one class, got ", x.shape());
  check(target.defined() && target.dtype() == DType::kU8 && target.shape() == x.shape(), "[", op,
        "] target must be u8 ", x.shape());
  check(index.defined() && index.dtype() == DType::kI64 && index.rank() == 1, "[", op,
        "] index must be i64 [k]");
  check(target.device() == x.device() && index.device() == x.device(), "[", op,
        "] target and index must be on ", x.device(), " as x is, got ", target.device(), " and ",
        index.device());
  check_indices(op, "index", index, x.dim(0));
}

}  // namespace

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index) {
  check_targets("bce_with_logits", x, target, index);
  check(index.numel() > 0, "[bce_with_logits] index is empty: the mean over no node is undefined");
  const Tensor loss = Tensor::empty({}, sum_dtype(x.dtype()), x.device());
  kernels::bce_with_logits.on(x.device())(x, target, index, loss);
  return loss;
}

Variable bce_with_logits(const Variable& x, const Tensor& target, const Tensor& index) {
  return record("bce_with_logits", bce_with_logits(x.value(), target, index), {x}, [=](const Tensor& dloss) {
    const Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
    kernels::bce_with_logits_backward.on(dx.device())(dloss, x.value(), target, index, dx);
    return std::vector{dx};
  });
}

Tensor label_metrics(const Tensor& x, const Tensor& target, const std::vector<Tensor>& sets) {
  const auto count = static_cast<std::int64_t>(sets.size());
  const Tensor out = Tensor::empty({count, 2}, DType::kF64, x.device());
  for (std::int64_t s = 0; s < count; ++s) {
    check_targets("label_metrics", x, target, sets[s]);
    kernels::label_metrics.on(x.device())(x, target, sets[s], out.slice(s, s + 1));
  }
  return out;
}

double micro_f1(const Tensor& x, const Tensor& target, const Tensor& index) {
  check_targets("micro_f1", x, target, index);
  return label_metrics(x, target, {index}).to_vector<double>()[0];
}

}  // namespace rodeo
