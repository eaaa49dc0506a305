#include "train/objective.h"

#include "ops/bce.h"
#include "ops/loss.h"

namespace rodeo {

bool metrics_wait(const Tensor& label) {
  return label.rank() == 2;
}

Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index) {
  return label.rank() == 2 ? bce_with_logits(logits, label, index) : cross_entropy(logits, label, index);
}

Tensor classification_metrics(const Tensor& logits, const Tensor& label, const std::vector<Tensor>& sets) {
  if (label.rank() != 2) return node_metrics(logits, label, sets);
  std::vector<double> metrics;
  for (const Tensor& set : sets) {
    metrics.push_back(micro_f1(logits, label, set));
    metrics.push_back(set.numel() == 0 ? 0 : bce_with_logits(logits, label, set).item());
  }
  return Tensor::from(metrics, {static_cast<std::int64_t>(sets.size()), 2});
}

}  // namespace rodeo
