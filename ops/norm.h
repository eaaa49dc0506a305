/// Normalisation over rows or columns. Floating dtypes: f64, f32, bf16, f16, with statistics of 16-bit types
/// in f32. Everything is deterministic; shapes, dtypes and devices that disagree throw rodeo::Error.
///
/// Kernels of our own and not cuDNN's: its batch normalisation promises no fixed order of summation in
/// training, and its best mode takes 9 to 26 times as long on matrices of 169,343 rows and more, 0.65 times
/// on 2,708 x 64 (build/bin/norm_bench, one H200, commit 84dabe1).
#pragma once

#include "core/variable.h"

namespace rodeo {

/// What evaluation normalises by; updated in place while training. f64 for x of f64, else f32.
struct RunningStats {
  Tensor mean, var;  // [n]
};

struct BatchNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;  // of the new statistics in the running ones
  bool training = true;
};

/// y[i, j] = (x[i, j] - mean[j]) / sqrt(var[j] + eps) * weight[j] + bias[j]   (Ioffe & Szegedy, ICML 2015).
///   x             [m, n]
///   weight, bias  [n] of x's dtype, or f32 beside 16-bit x; undefined for 1 and 0
/// As torch.nn.BatchNorm1d. Training: mean and var are those of the column, var with the divisor m; m >= 2,
/// or Error. Then running = (1 - momentum) running + momentum new, with the divisor m - 1 for var; running
/// with undefined members keeps none. Not training: mean and var are the running ones, or the column's if
/// there are none.
/// Gradients, each of its operand's dtype:  dbias = sum over i of dy,  dweight = sum over i of dy xhat,
///   dx = weight / sqrt(var + eps) * (dy - (dbias + xhat dweight) / m),  the last term for column statistics.
Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias,
                    const RunningStats& running, const BatchNormOptions& options = {});

/// y[i, j] = (x[i, j] - mean[i]) / sqrt(var[i] + eps) * weight[j] + bias[j], with the mean and variance
/// (divisor n) of row i (Ba, Kiros, Hinton, 2016). Shapes as above.
/// Gradient: with g = dy weight,  dx = (g - mean over j of g - xhat * mean over j of g xhat) / sqrt(var +
/// eps).
Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps = 1e-5);

/// y[i, :] = x[i, :] / max(|x[i, :]|, eps), the Euclidean norm.   [m, n] -> [m, n].
/// Gradient: dx = (dy - y <dy, y>) / |x|, or dy / eps where |x| <= eps.
Variable l2_normalize(const Variable& x, double eps = 1e-12);

}  // namespace rodeo
