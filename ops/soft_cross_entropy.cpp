#include "ops/soft_cross_entropy.h"

#include <cmath>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"
#include "ops/loss.h"

namespace rodeo {

Tensor soft_targets(const Tensor& label, const Tensor& index, std::int64_t classes,
                    const SoftTargetOptions& options) {
  for (const Tensor& given : {label, index})
    check(given.defined() && given.dtype() == DType::kI64 && given.rank() == 1,
          "[soft_targets] label and index must be i64 vectors");
  const std::vector<double>& given = options.class_weight;
  check(given.empty() || std::ssize(given) == classes, "[soft_targets] class_weight must have ", classes,
        " values, got ", given.size());
  for (const double w : given)
    check(w >= 0 && std::isfinite(w), "[soft_targets] class_weight must be finite and at least 0, got ", w);
  const double smoothing = options.label_smoothing;
  check(smoothing >= 0 && smoothing < 1, "[soft_targets] label_smoothing must be in [0, 1), got ", smoothing);

  const Tensor labels = label.to(kCpu), nodes = index.to(kCpu);
  check_indices("soft_targets", "index", nodes, label.numel());
  check_labels("soft_targets", labels, nodes, classes);
  const auto weight = [&](std::int64_t j) {
    return given.empty() ? 1.0 : given[static_cast<std::size_t>(j)];
  };
  double total = 0;
  for (const std::int64_t node : nodes.to_vector<std::int64_t>())
    total += weight(labels.data<std::int64_t>()[node]);
  check(total > 0, "[soft_targets] the class weights of all named nodes are 0");
  std::vector<float> target(static_cast<std::size_t>(label.numel() * classes));
  for (const std::int64_t node : nodes.to_vector<std::int64_t>())
    for (std::int64_t j = 0; j < classes; ++j) {
      const double own = j == labels.data<std::int64_t>()[node] ? 1 - smoothing : 0;
      target[static_cast<std::size_t>(node * classes + j)] +=
          static_cast<float>((own + smoothing / static_cast<double>(classes)) * weight(j) / total);
    }
  return Tensor::from(target).reshape({label.numel(), classes}).to(label.device());
}

Variable soft_cross_entropy(const Variable& logits, const Tensor& target) {
  const DType dtype = sum_dtype(logits.dtype());
  check_matrix("soft_cross_entropy", "logits", logits.value());
  check_shape("soft_cross_entropy", "target", target, logits.shape());
  check(target.dtype() == dtype, "[soft_cross_entropy] target must be ", dtype, " with ", logits.dtype(),
        " logits, got ", target.dtype());
  check(target.device() == logits.device(), "[soft_cross_entropy] target must be on ", logits.device(),
        ", got ", target.device());
  const Variable logp = log_softmax(logits.dtype() == dtype ? logits : cast(logits, dtype));
  const Tensor loss = Tensor::empty({}, dtype, logits.device());
  if (target.numel() == 0)
    loss.fill(0);
  else
    kernels::soft_nll_loss.on(loss.device())(logp.value(), target, loss);
  return record("soft_nll_loss", loss, {logp}, [target](const Tensor& dloss) {
    const Tensor dlogp = Tensor::empty(target.shape(), target.dtype(), target.device());
    if (dlogp.numel() > 0) kernels::soft_nll_loss_backward.on(dlogp.device())(dloss, target, dlogp);
    return std::vector{dlogp};
  });
}

}  // namespace rodeo
