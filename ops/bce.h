/// Binary cross entropy and micro F1 of multi-label node classification.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// Mean over i in index and all j of  log(1 + exp(x)) - target x  with x = x[i, j]: the binary cross entropy
/// of sigmoid(x), computed without overflow.
///   x       [nodes, c]  floating, c >= 1
///   target  [nodes, c]  u8, 0 or 1 (checked when a dataset is loaded)
///   index   [k]         i64, k >= 1, values in [0, nodes), checked as index_checks.h says; nodes may repeat
///   returns []          summed in f64 in a fixed order; f32 for 16-bit x, else x's dtype
/// Gradient: dx[i, j] += dy (sigmoid(x[i, j]) - target[i, j]) / (k c) for every i in index, zero elsewhere.
/// Deterministic. Throws Error when shapes, dtypes or devices disagree, and for an empty index.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index);
Variable bce_with_logits(const Variable& x, const Tensor& target, const Tensor& index);

/// micro_f1() and bce_with_logits() of each set of nodes. The host does not wait for the device.
///   sets     i64 [k_s] each, as index above; an empty set gives 0 and 0
///   returns  f64 [sets, 2]
/// Determinism and errors as above.
Tensor label_metrics(const Tensor& x, const Tensor& target, const std::vector<Tensor>& sets);

/// Micro-averaged F1 of the predictions x > 0 at the nodes of index: 2 TP / (2 TP + FP + FN), counted over
/// all labels together; 0 where there is no true positive, and for an empty index. NaN predicts no label.
/// Shapes, dtypes, determinism and errors as above.
double micro_f1(const Tensor& x, const Tensor& target, const Tensor& index);

}  // namespace rodeo
