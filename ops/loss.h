/// Classification loss and accuracy over a set of nodes. Scores are f64, f32, bf16 or f16; a loss is f32 for
/// 16-bit ones. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include <vector>

#include "core/variable.h"

namespace rodeo {

/// y[i, j] = x[i, j] - log sum_k exp x[i, k], without overflow.   [m, c], c >= 1 where m > 0.
/// Gradient: dx = dy - exp(y) * (row sum of dy).   Deterministic.
Tensor log_softmax(const Tensor& x);
Variable log_softmax(const Variable& x);

/// Mean over i in index of -logp[i, label[i]].
///   logp   [nodes, c]  floating
///   label  [nodes]     i64; values in [0, c) at the nodes of index; checked as index_checks.h says
///   index  [k]         i64, k >= 1, values in [0, nodes), checked too; nodes may repeat
///   returns []         a scalar, summed in f64 in a fixed order
/// Gradient: dlogp[i, label[i]] -= dy / k for every i in index, zero elsewhere.   Deterministic.
Tensor nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index);
Variable nll_loss(const Variable& logp, const Tensor& label, const Tensor& index);

/// nll_loss(log_softmax(logits), label, index) in one pass over the logits at index. Shapes, dtypes and
/// errors as there. A row is accumulated in f32 (f64 for f64), the mean in f64. Gradient: dlogits[i, j] +=
/// dloss / k (softmax(logits[i])[j] - [j = label[i]]) for every i in index, zero elsewhere; in the memory of
/// the logits, where the caller has let go of them.   Deterministic.
Tensor cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& index);
Variable cross_entropy(const Variable& logits, const Tensor& label, const Tensor& index);

/// accuracy() and the mean cross entropy of each of up to four sets of nodes, in one kernel launch. The host
/// does not wait for the device.
///   scores, label   as in nll_loss
///   sets            i64 [k_s] each, as index there; an empty set gives 0 and 0
///   returns         f64 [sets, 2]
Tensor node_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets);

/// The fraction of nodes in index whose largest score is at label[i]; of equal scores the first counts. A row
/// with a NaN counts as wrong. Shapes as in nll_loss; scores are logits or log-probabilities. 0 for an empty
/// index.
double accuracy(const Tensor& scores, const Tensor& label, const Tensor& index);

}  // namespace rodeo
