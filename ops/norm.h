/// Normalisation over rows or columns. Floating dtypes: f64, f32, bf16, f16; statistics of 16-bit types are
/// f32. Deterministic, which is why batch_norm does not call cuDNN: its order of summation is not fixed.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
#pragma once

#include "core/variable.h"
#include "ops/norm_types.h"

namespace rodeo {

/// y[i, j] = (x[i, j] - mean[j]) / sqrt(var[j] + eps) * weight[j] + bias[j]   (Ioffe & Szegedy, ICML 2015).
///   x             [m, n]
///   weight, bias  [n] of x's dtype, or f32 with 16-bit x; undefined: 1 and 0
/// The layer is that of torch.nn.BatchNorm1d. Under a ScopedPartition (core/node_partition.h) the columns are
/// those of all ranks, and x has the rank's rows; dweight and dbias are the rank's share of their sums.
/// Training: mean and var are those of the column, var with divisor m; m >= 2 or Error. Then running = (1 -
/// momentum) running + momentum new, where var has divisor m - 1. Undefined members of running are not
/// updated. Evaluation: mean and var are the running statistics, or those of the column where they are
/// undefined. Gradients, each in its operand's dtype:  dbias = sum over i of dy,  dweight = sum over i of dy
/// xhat,
///   dx = weight / sqrt(var + eps) * (dy - (dbias + xhat dweight) / m); with running statistics the last term
///   is left out.
Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias,
                    const RunningStats& running, const BatchNormOptions& options = {});

/// y[i, j] = (x[i, j] - mean[i]) / sqrt(var[i] + eps) * weight[j] + bias[j], with the mean and variance
/// (divisor n) of row i (Ba, Kiros, Hinton, 2016). Shapes as above.
/// Gradient, with g = dy weight:  dx = (g - mean over j of g - xhat * mean over j of g xhat) / sqrt(var +
/// eps).
Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps = 1e-5);

/// y[i, :] = x[i, :] / max(|x[i, :]|, eps), the Euclidean norm.   [m, n] -> [m, n].
/// Gradient: dx = (dy - y <dy, y>) / |x|, or dy / eps where |x| <= eps.
Variable l2_normalize(const Variable& x, double eps = 1e-12);

}  // namespace rodeo
