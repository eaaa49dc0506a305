/// Optimiser updates, in place. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "ops/optim_types.h"

namespace rodeo {

/// One step of Adam (Kingma & Ba, ICLR 2015, Algorithm 1) for many parameters, one kernel launch for each 32
/// of them. Epsilon is added outside the square root, as in the paper and in PyTorch:
///   g += weight_decay p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///   p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
/// With options.lazy an element with g = 0 is left as it is: no decay of its moments, none of its weight.
/// That is the rule of torch.optim.SparseAdam, for elements instead of rows: t counts all steps of the
/// parameter. With options.decoupled it is AdamW (Loshchilov & Hutter, ICLR 2019), as torch.optim.AdamW: g
/// stays as it is, and p *= 1 - lr weight_decay comes before p is updated. An update with rows has a gradient
/// of these rows, k >= 0, and needs lazy: memory and time are those of k rows, and the bits those of a g with
/// zeros elsewhere. A row out of range is an Error on the CPU, and left out on CUDA.
///   steps  [slots + 1]  i64: steps[slot] is t - 1, the number of steps taken so far; it is incremented. The
///                       last entry counts the calls.
///   lr     [slots]      f64
/// steps and lr are on the parameters' device, so that a CUDA graph can replay the call unchanged while their
/// values change. g is not modified. No two updates may have the same slot.
void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr);

/// One step of gradient descent with momentum for many parameters, as torch.optim.SGD without dampening. One
/// kernel launch for each 32 parameters:
///   g += weight_decay p;  m = momentum m + g;  p -= lr (nesterov ? g + momentum m : m)
/// An update without m is p -= lr g. m is zero before the first step. steps and lr are as in adam_step, and
/// so are the slots: a CUDA graph can replay the call. g is not modified.
void sgd_step(const std::vector<SgdUpdate>& updates, const Tensor& steps, const Tensor& lr);

}  // namespace rodeo
