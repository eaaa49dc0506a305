/// Operands and options of optimiser steps (ops/optim.h), which contracts and kernel signatures share.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace rodeo {

struct AdamOptions {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: g + weight_decay * p, as in torch.optim.Adam
  bool decoupled = false;   // AdamW: weight_decay shrinks p instead and is not in g
  bool lazy = false;        // an element whose gradient is 0 keeps p, m and v
};

/// The update of one parameter.
struct AdamUpdate {
  Tensor p, g, m, v;      // parameter, gradient, first and second moment: one shape, dtype (f32, f64), device
  AdamOptions options;    // lr is not read: adam_step takes it from a tensor
  std::int64_t slot = 0;  // index of the parameter in adam_step's steps and lr
  Tensor rows = {};  // i64 [k], all different: g [k, n] is of these rows of p [m, n], the others have none
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // L2: g + weight_decay * p
};

/// The update of one parameter.
struct SgdUpdate {
  Tensor p, g;  // parameter, gradient: one shape, dtype (f32, f64), device
  Tensor m;     // momentum, alike; undefined: options.momentum must be 0
  SgdOptions options;
  std::int64_t slot = 0;  // index of the parameter in sgd_step's steps and lr
};

}  // namespace rodeo
