/// Product with a weight matrix, fused with dropout of its input and an epilogue where a kernel supports it.
#pragma once

#include <vector>

#include "ops/epilogue.h"
#include "ops/features.h"

namespace rodeo {

struct LinearOptions {
  EpilogueOptions then = {};  // follows the product: pre_scale, activation, dropout, post_scale
  std::int64_t columns = 0;   // of y; 0: n. More than n: columns from n on are zero (see matmul_padded)
};

/// y[i, j] = post_scale[i] dropout(f(pre_scale[i] sum over k of x[i, k] w[k, j] + b[j])). Every part but the
/// product is optional; f is options.then.activation.
///   x        [m, k], dense or sparse, with or without a pending dropout (features.h)
///   w        [k, n]
///   bias     [n]; undefined for no bias
///   columns  n; more only where nothing but pre_scale follows the product
///   returns  [m, n], or [m, columns]
/// f64, f32, bf16 or f16; all operands of one dtype and device. With 16-bit x the others may be f32: y has
/// x's dtype, dw and db are f32.
/// Gradients: dw = x^T (pre_scale g), db = column sums of g, dx = (pre_scale g) w^T. Here g is dy after the
/// gradients of post_scale, dropout and f, as defined in epilogue.h. The padding columns of dy are not read.
///
/// Fusion (ops/plan/linear_plan.h decides). In f32 on CUDA, for m >= 1024, k <= 1024 and n <= 512, one kernel
/// applies dropout and scale to x, multiplies and adds the bias, on tensor cores. It splits f32 values into
/// two TF32 halves; three products of halves have errors of at most 2^-22 |x| |w|, those of an f32 product
/// (docs/kernels/linear.md). A factor that is not finite, or above 2^127, gives NaN.
/// - GPUs of compute capability 9.0 can also fuse ReLU, dropout and post_scale, for n > 64 and a constant x.
/// - Other GPUs have this kernel only where y, and dx if it is needed, have at most 64 columns.
/// - Everything else, and everything with set_allow_tf32(true), runs as dropout, matmul and epilogue.
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
Variable linear(const Features& x, const Variable& w, const Variable& bias = {},
                const LinearOptions& options = {});

/// Products of one x with matrices of one shape:  y_i = dropout(x) w_i + b_i.
///   x        [m, k], as for linear()
///   w        [k, n] each; at least one
///   bias     [n] each, as many as w; {} for no bias
///   returns  [m, n] each
/// Dtypes, gradients and errors as for linear(x, w_i, b_i), and the same bits but for dx, which sums in one
/// order. For 2 to 4 matrices of 65 to 512 columns in all, f32 on GPUs of compute capability 9.0 reads x and
/// draws its dropout once for 128 of them, where one kernel computes linear(). Deterministic.
std::vector<Variable> linear_many(const Features& x, const std::vector<Variable>& w,
                                  const std::vector<Variable>& bias = {});

/// Prepares x for several products linear(x, w) by matrices of w's shape. If no kernel fuses the pending
/// dropout of x into the product, applies it now, so that it is computed once and not in each product. Else
/// returns x.   x [m, k], w [k, n] -> [m, k]. Dtypes, errors and determinism as in linear().
Features linear_input(const Features& x, const Variable& w);

}  // namespace rodeo
