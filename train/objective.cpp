#include "train/objective.h"

#include "ops/bce.h"
#include "ops/loss.h"

namespace rodeo {
namespace {

bool multi(const Tensor& label) {
  return label.rank() == 2;
}

}  // namespace

Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index) {
  return multi(label) ? bce_with_logits(logits, label, index) : nll_loss(log_softmax(logits), label, index);
}

Tensor scores_of(const Tensor& logits, const Tensor& label) {
  return multi(label) ? logits : log_softmax(logits);
}

double score(const Tensor& scores, const Tensor& label, const Tensor& index) {
  return multi(label) ? micro_f1(scores, label, index) : accuracy(scores, label, index);
}

double score_loss(const Tensor& scores, const Tensor& label, const Tensor& index) {
  return (multi(label) ? bce_with_logits(scores, label, index) : nll_loss(scores, label, index)).item();
}

}  // namespace rodeo
