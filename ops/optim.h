/// Optimiser updates, in place. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace rodeo {

struct AdamOptions {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: g + weight_decay * p, as in torch.optim.Adam
};

/// One parameter's part of a step.
struct AdamUpdate {
  Tensor p, g, m, v;      // same shape, dtype (f32 or f64) and device
  AdamOptions options;    // but for lr, which adam_step takes from the device
  std::int64_t slot = 0;  // where the parameter's entries of steps and lr are
};

/// One step of Adam (Kingma & Ba, ICLR 2015, Algorithm 1) for many parameters, in one launch for up to 32 of
/// them; epsilon outside the root as there and in PyTorch:
///   g += weight_decay p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///   p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
///   steps  [slots + 1]  i64: steps[slot] is t - 1, the steps that this parameter has taken; it is raised by
///                       one. So is the last entry, which counts the calls.
///   lr     [slots]      f64
/// Both are on the parameters' device and change from step to step: a CUDA graph replays the call as it is.
/// g is left as it is. No two updates may have the same slot.
void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr);

}  // namespace rodeo
