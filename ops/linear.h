/// A product with a weight matrix, and what stands around it in a graph network, in one kernel where it can.
#pragma once

#include "ops/features.h"

namespace rodeo {

struct LinearOptions {
  Tensor scale = {};         // [m] s, a constant; undefined: 1
  std::int64_t columns = 0;  // of y, at least n: zeros from n on, as matmul_padded has them; 0: n
};

/// y[i, j] = s[i] sum over k of x[i, k] w[k, j] + b[j].
///   x        [m, k], dense or sparse, as dropout() in features.h leaves it or not
///   w        [k, n]
///   bias     [n], or undefined for none; then y has n columns
///   returns  [m, n], or [m, columns]
/// f64, f32, bf16 or f16; all operands of one dtype and device.
/// Gradients: dw = x^T (s dy), db = sums of dy's columns, dx = s dy w^T; dy is not read in the padding.
/// In f32 on CUDA, for sizes at which that is faster (k <= 1024, n <= 256, thousands of rows, one of k and n
/// at most 64 or x dropped out just before), x is dropped out, scaled, multiplied and has the bias added in
/// one kernel, on the tensor cores: f32 values are split into two TF32 halves each, three products of halves
/// miss no more than 2^-22 of |x w|, and errors are those of an f32 product (docs/kernels.md); a factor that
/// is not finite, or above 2^127, gives NaN. Otherwise, and with set_allow_tf32(true), as dropout, matmul and
/// epilogue.  Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
Variable linear(const Features& x, const Variable& w, const Variable& bias = {},
                const LinearOptions& options = {});

}  // namespace rodeo
