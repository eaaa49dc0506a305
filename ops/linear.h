/// A product with a weight matrix, and what stands around it in a graph network, in one kernel where it can.
#pragma once

#include "ops/epilogue.h"
#include "ops/features.h"

namespace rodeo {

struct LinearOptions {
  EpilogueOptions then = {};  // what follows the product: s, f, dropout, t of epilogue.h
  std::int64_t columns = 0;   // of y, at least n: zeros from n on, as matmul_padded has them; 0: n
};

/// y[i, j] = t[i] dropout(f(s[i] sum over k of x[i, k] w[k, j] + b[j])), each part where asked for.
///   x        [m, k], dense or sparse, as dropout() in features.h leaves it or not
///   w        [k, n]
///   bias     [n], or undefined for none
///   columns  n, or more for a product and s alone
///   returns  [m, n], or [m, columns]
/// f64, f32, bf16 or f16; all operands of one dtype and device, but that beside 16-bit x all others may be
/// f32: y has x's dtype and dw and db are f32 then. Gradients: dw = x^T (s g), db = sums of g's columns, dx
/// = (s g) w^T with g of epilogue.h; dy is not read in the padding.
/// In f32 on CUDA, from 1024 rows on and for k <= 1024, n <= 256, x is dropped out, scaled, multiplied and
/// has the bias added in one kernel, on the tensor cores: f32 values are split into two TF32 halves each,
/// three products of halves miss no more than 2^-22 of |x w|, and errors are those of an f32 product
/// (docs/kernels.md); a factor that is not finite, or above 2^127, gives NaN. More than 64 columns of y or dx
/// take a GPU of compute capability 9.0 for that; with more than 64 columns of y and a constant x, f (but
/// ELU), dropout and t are part of the kernel, and g of that of dw. Otherwise, and with set_allow_tf32(true),
/// as dropout, matmul and epilogue.  Deterministic. Throws rodeo::Error when shapes, dtypes or devices
/// disagree.
Variable linear(const Features& x, const Variable& w, const Variable& bias = {},
                const LinearOptions& options = {});

}  // namespace rodeo
