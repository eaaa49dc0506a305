/// Loss and score of labels that do not exclude each other, over a set of nodes.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// Mean over i in index and all j of  log(1 + exp(x)) - target x,  x = x[i, j]: the binary cross entropy of
/// sigmoid(x), without overflow.
///   x       [nodes, c]  floating, c >= 1
///   target  [nodes, c]  u8, 0 or 1 (checked when a dataset is loaded)
///   index   [k]         i64, k >= 1, values in [0, nodes); a node may be named more than once
///   returns []          a scalar, summed in f64 in a fixed order; f32 for 16-bit x, else of x's dtype
/// Gradient: dx[i, j] += dy (sigmoid(x[i, j]) - target[i, j]) / (k c) for every i in index, zero elsewhere.
/// Deterministic. Throws Error for shapes, dtypes or devices that disagree, and for an empty index.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index);
Variable bce_with_logits(const Variable& x, const Tensor& target, const Tensor& index);

/// For each set of nodes micro_f1() and the mean that bce_with_logits() is. Nothing waits for the device.
///   sets     i64 [k_s] each, as index above; may be empty, which gives 0 and 0
///   returns  f64 [sets, 2]
/// Determinism and Errors as above, but for empty sets.
Tensor label_metrics(const Tensor& x, const Tensor& target, const std::vector<Tensor>& sets);

/// Micro-averaged F1 of the labels with x > 0, over i in index: 2 TP / (2 TP + FP + FN), counted over all
/// labels together; 0 where nothing is right. NaN counts as no label. Shapes, dtypes, determinism and Errors
/// as above, but 0 for an empty index.
double micro_f1(const Tensor& x, const Tensor& target, const Tensor& index);

}  // namespace rodeo
