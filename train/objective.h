/// What a node classifier is trained to, and how well it does: one label a node, or several.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// The loss of logits [nodes, classes] at the nodes of index. label i64 [nodes]: cross entropy. label u8
/// [nodes, classes]: binary cross entropy of every class.
Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index);

/// The logits as score() and score_loss() read them: made once, for several sets of nodes.
Tensor scores_of(const Tensor& logits, const Tensor& label);
/// Accuracy; with several labels a node, micro-averaged F1.
double score(const Tensor& scores, const Tensor& label, const Tensor& index);
double score_loss(const Tensor& scores, const Tensor& label, const Tensor& index);

}  // namespace rodeo
