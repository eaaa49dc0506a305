/// Options of epilogue (ops/epilogue.h), which contracts, plans and kernel signatures share.
#pragma once

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo {

enum class Activation { kNone, kRelu, kElu };  // elu(v) = v where v > 0, else exp(v) - 1

/// y[i, j] = post_scale[i] dropout(activation(pre_scale[i] x[i, j] + bias[j]))
struct EpilogueOptions {
  Tensor pre_scale = {};  // [m], a constant; undefined: 1
  Activation activation = Activation::kNone;
  double dropout = 0;      // probability p in [0, 1)
  RandomKey key = {};      // of the mask, which is that of dropout() (dense.h) on [m, n]
  Tensor post_scale = {};  // [m], a constant, not negative with kRelu; not supported with kElu; undefined: 1
  bool recompute = false;  // backward recomputes y from x instead of keeping y
};

}  // namespace rodeo
