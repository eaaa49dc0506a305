/// Cross entropy against a distribution over the classes: class weights and label smoothing.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

struct SoftTargetOptions {
  std::vector<double> class_weight = {};  // w, one for each class, >= 0; empty: ones
  double label_smoothing = 0;             // s in [0, 1)
};

/// What soft_cross_entropy needs for the loss of torch.nn.functional.cross_entropy with the options `weight`
/// and `label_smoothing` at the nodes of index:
///   y[i, j] = ((1 - s) w[j] [j = label[i]] + s w[j] / c) / sum over k of w[label[index[k]]]
/// and 0 in the other rows; a node that occurs m times counts m times. Computed on the host, once.
///   label    [nodes]  i64, in [0, c) at the nodes of index
///   index    [k]      i64, in [0, nodes)
///   returns  [nodes, c]  f32, on the device of label
/// Deterministic. Throws rodeo::Error for values out of range and where all weights of the named nodes are 0.
Tensor soft_targets(const Tensor& label, const Tensor& index, std::int64_t classes,
                    const SoftTargetOptions& options);

/// - sum over i, j of target[i, j] log_softmax(logits)[i, j].
///   logits   [nodes, c]  floating; 16-bit types are computed in f32
///   target   [nodes, c]  f32, or f64 with f64 logits
///   returns  []  f32, or f64 with f64 logits
/// Gradient: dlogits[i, j] = dloss (softmax(logits)[i, j] (sum over k of target[i, k]) - target[i, j]).
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
Variable soft_cross_entropy(const Variable& logits, const Tensor& target);

}  // namespace rodeo
