/// Macro-averaged F1 of a classification.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// The mean over classes of F1 = 2 hits / (predicted + actual), for each set of nodes. The predicted class
/// has the first of the largest scores; a row with a NaN predicts none. Classes that are neither predicted
/// nor actual are left out, as in scikit-learn's f1_score(average="macro").
///   scores   [nodes, c]  f64, f32, bf16 or f16; logits or log-probabilities
///   label    [nodes]     i64 in [0, c) at the nodes of the sets
///   sets     i64 [k_s] each, in [0, nodes); an empty set gives 0
///   returns  f64 [sets]
/// label and sets are checked as index_checks.h says: a set with a value out of range is NaN on CUDA. Does
/// not wait for the device. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor macro_f1(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets);

}  // namespace rodeo
