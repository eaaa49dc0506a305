/// Optimiser updates, in place. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include "core/tensor.h"

namespace rodeo {

struct AdamOptions {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: g + weight_decay * p, as in torch.optim.Adam
};

/// One step of Adam (Kingma & Ba, ICLR 2015, Algorithm 1), epsilon outside the root as there and in PyTorch:
///   g += weight_decay p;  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///   p -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
/// p, g, m, v: same shape, dtype (f32 or f64) and device. step t counts from 1. g is left as it is.
void adam_step(const Tensor& p, const Tensor& g, const Tensor& m, const Tensor& v, std::int64_t step,
               const AdamOptions& options);

}  // namespace rodeo
