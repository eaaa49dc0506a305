/// Loss and metrics of node classification, with one label or several labels per node, and of a rank without
/// data.
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

/// A loss of 0 that does not depend on x, any shape: [], f32, or f64 for f64. Its gradient, zeros, takes part
/// in the exchange of other ranks.
Variable no_loss(const Variable& x);

}  // namespace rodeo
