#include "ops/loss.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"
#include "ops/pointwise.h"

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
  check_indices(op, "index", index, scores.dim(0));
  check_labels(op, label, index, scores.dim(1));
}

}  // namespace

Tensor log_softmax(const Tensor& x) {
  check_matrix("log_softmax", "x", x);
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::log_softmax.on(y.device())(x, y);
  return y;
}

namespace {

Tensor log_softmax_gradient(const Tensor& y, const Tensor& dy) {
  const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  if (dx.numel() > 0) kernels::log_softmax_backward.on(dx.device())(y, dy, dx);
  return dx;
}
Variable log_softmax_gradient(const Variable& y, const Variable& dy) {
  const std::int64_t n = y.dim(1);
  const Variable sums =
      matmul(dy, Variable(Tensor::full({n, n}, 1, y.dtype(), y.device())));  // in each column
  return linear_combination(1, dy, -1, mul(exp(y), sums));
}

Tensor nll_loss_gradient(const Tensor& dloss, const Tensor& label, const Tensor& index,
                         const Variable& logp) {
  const Tensor dlogp = Tensor::empty(logp.shape(), logp.dtype(), logp.device());
  kernels::nll_loss_backward.on(dlogp.device())(dloss, label, index, dlogp);
  return dlogp;
}
Variable nll_loss_gradient(const Variable& dloss, const Tensor& label, const Tensor& index,
                           const Variable& logp) {
  return record("nll_loss_gradient", nll_loss_gradient(dloss.value(), label, index, logp), {dloss},
                [=](const auto& d) { return std::vector{nll_loss(d, label, index)}; });
}

}  // namespace

Variable log_softmax(const Variable& x) {
  const SavedTensor y(log_softmax(x.value()));
  return record(
      "log_softmax", y.get(), {x},
      [y](const auto& dy) { return std::vector{log_softmax_gradient(y.like(dy), dy)}; }, y);
}

Tensor nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index) {
  check_targets("nll_loss", logp, label, index);
  check(index.numel() > 0, "[nll_loss] index is empty: the mean over no node is undefined");
  const Tensor loss = Tensor::empty({}, sum_dtype(logp.dtype()), logp.device());
  kernels::nll_loss.on(loss.device())(logp, label, index, loss);
  return loss;
}

Variable nll_loss(const Variable& logp, const Tensor& label, const Tensor& index) {
  return record("nll_loss", nll_loss(logp.value(), label, index), {logp},
                [=](const auto& dloss) { return std::vector{nll_loss_gradient(dloss, label, index, logp)}; });
}

Tensor cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& index) {
  check_targets("cross_entropy", logits, label, index);
  check(index.numel() > 0, "[cross_entropy] index is empty: the mean over no node is undefined");
  const Tensor loss = Tensor::empty({}, sum_dtype(logits.dtype()), logits.device());
  kernels::cross_entropy.on(loss.device())(logits, label, index, loss);
  return loss;
}

Variable cross_entropy(const Variable& logits, const Tensor& label, const Tensor& index) {
  return record(
      "cross_entropy", cross_entropy(logits.value(), label, index), {logits}, [=](const Tensor& dloss) {
        // Rows are read before they are written: logits that nobody else has are overwritten.
        const Tensor dlogits = logits.is_sole_owner()
                                   ? logits.value()
                                   : Tensor::empty(logits.shape(), logits.dtype(), logits.device());
        kernels::cross_entropy_backward.on(dlogits.device())(dloss, logits.value(), label, index, dlogits);
        return std::vector{dlogits};
      });
}

Tensor node_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets) {
  constexpr std::size_t kMostSets = 4;
  check(sets.size() <= kMostSets, "[node_metrics] at most ", kMostSets, " sets, got ", sets.size());
  check_matrix("node_metrics", "scores", scores);
  for (const Tensor& set : sets) check_targets("node_metrics", scores, label, set);
  const Tensor metrics =
      Tensor::empty({static_cast<std::int64_t>(sets.size()), 2}, DType::kF64, scores.device());
  if (!sets.empty()) kernels::node_metrics.on(scores.device())(scores, label, sets, metrics);
  return metrics;
}

double accuracy(const Tensor& scores, const Tensor& label, const Tensor& index) {
  check_targets("accuracy", scores, label, index);
  return node_metrics(scores, label, {index}).to_vector<double>()[0];
}

}  // namespace rodeo
