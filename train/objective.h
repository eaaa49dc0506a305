/// Loss and metrics of node classification, with one label or several labels per node.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// The loss of logits [nodes, classes] at the nodes of index. label i64 [nodes]: cross entropy. label u8
/// [nodes, classes]: binary cross entropy of every class.
Variable classification_loss(const Variable& logits, const Tensor& label, const Tensor& index);

/// Metric and loss of each set of nodes: f64 [sets, 2]. The metric is accuracy; with several labels per node,
/// micro-averaged F1. Does not wait for the device.
Tensor classification_metrics(const Tensor& logits, const Tensor& label, const std::vector<Tensor>& sets);

}  // namespace rodeo
