/// What stands between two sums of a graph neural network, in one pass over memory.
#pragma once

#include "core/random.h"
#include "core/variable.h"

namespace rodeo {

enum class Activation { kNone, kRelu, kElu };  // elu(v) = v where v > 0, else exp(v) - 1

struct EpilogueOptions {
  Tensor scale = {};  // [m] s, a constant; undefined: 1
  Activation activation = Activation::kNone;
  double dropout = 0;      // probability p in [0, 1)
  RandomKey key = {};      // names the mask: that of dropout() in dense.h on [m, n]
  Tensor after = {};       // [m] t, a constant, not negative with kRelu, undefined with kElu; undefined: 1
  bool recompute = false;  // the backward pass computes y again, from x, instead of keeping it
};

/// y[i, j] = t[i] dropout(f(s[i] x[i, j] + b[j])), each part where asked for: what add_bias, f, dropout
/// and scale_rows compute, in one launch.
///   x        [m, pitch], pitch >= n: columns from n on are padding, and not read
///   bias     [n], or undefined for none, and then n is that of `columns`
///   columns  n, where there is no bias; 0: pitch
///   returns  [m, n]
/// f64, f32, bf16 or f16; all operands of one dtype and device, but that beside 16-bit x the vectors (bias,
/// scale, after) may be f32. 16-bit types are rounded once, at the end.
/// Gradients: dx[i, j] = s[i] g[i, j] with g[i, j] = t[i] f' dy[i, j] / (1 - p) where the element was kept,
/// else 0, f' being read from y; zero in the padding. db[j] = sum over i of g[i, j], in the bias's dtype.
/// Deterministic.
/// With `recompute` memory is saved where y is large, and x is kept by something else anyway; same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for p outside [0, 1).
Tensor epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options,
                std::int64_t columns = 0);
Variable epilogue(const Variable& x, const Variable& bias, const EpilogueOptions& options,
                  std::int64_t columns = 0);

}  // namespace rodeo
