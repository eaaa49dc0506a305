/// Operands and options of normalisation layers (ops/norm.h), which contracts and kernel signatures share.
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// Running statistics: updated in place while training, used in evaluation. f64 for x of f64, else f32.
struct RunningStats {
  Tensor mean, var;  // [n]
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // weight of the batch statistics in the update of the running ones
  bool training = true;
};

}  // namespace rodeo
