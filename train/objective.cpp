#include "train/objective.h"

#include "ops/bce.h"
#include "ops/loss.h"

namespace rodeo {

Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index) {
  return label.rank() == 2 ? bce_with_logits(logits, label, index) : cross_entropy(logits, label, index);
}

Tensor classification_metrics(const Tensor& logits, const Tensor& label, const std::vector<Tensor>& sets) {
  return label.rank() == 2 ? label_metrics(logits, label, sets) : node_metrics(logits, label, sets);
}

}  // namespace rodeo
