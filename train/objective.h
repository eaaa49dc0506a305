/// What a node classifier is trained to, and how well it does: one label a node, or several.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// The loss of logits [nodes, classes] at the nodes of index. label i64 [nodes]: cross entropy. label u8
/// [nodes, classes]: binary cross entropy of every class.
Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index);

/// For each set of nodes accuracy, with several labels a node micro-averaged F1, and the loss: f64 [sets, 2].
/// Nothing waits for the device.
Tensor classification_metrics(const Tensor& logits, const Tensor& label, const std::vector<Tensor>& sets);

}  // namespace rodeo
