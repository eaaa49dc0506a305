/// What a node classifier is trained to, and how well it does: one label a node, or several.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// The loss of logits [nodes, classes] at the nodes of index. label i64 [nodes]: cross entropy. label u8
/// [nodes, classes]: binary cross entropy of every class.
Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index);

/// f64 [sets, 2]: for each set of nodes the score and the loss, 0 and 0 for an empty one. The score is the
/// accuracy; with several labels a node, the micro-averaged F1.
Tensor classification_metrics(const Tensor& logits, const Tensor& label, const std::vector<Tensor>& sets);

/// Whether classification_metrics waits for the device, and cannot be captured: with several labels a node.
bool metrics_wait(const Tensor& label);

}  // namespace rodeo
