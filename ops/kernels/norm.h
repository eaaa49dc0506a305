/// Kernels of normalisation layers. registry.h states what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"
#include "ops/norm_types.h"

namespace rodeo::kernels {

// norm.h: x, y, dx, dy [m, n]; mean, rstd [n] or [m]; weight, bias, dweight, dbias [n]. mean, rstd, dweight
// and dbias have the accumulator dtype. weight and bias may be undefined.
enum class NormAxis { kColumns, kRows };  // whether mean and rstd belong to columns [n] or rows [m]
/// Computes mean and rstd of columns and updates running, whose members may be undefined.
RODEO_KERNEL(batch_stats, void(const Tensor& x, double eps, double momentum, const RunningStats& running,
                               const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(row_stats, void(const Tensor& x, double eps, const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(normalize, void(const Tensor& x, const Tensor& mean, const Tensor& rstd, NormAxis axis,
                             const Tensor& weight, const Tensor& bias, const Tensor& y));
/// dweight[j] = sum over i of dy (x - mean) rstd, or of dy x where mean is undefined;  dbias[j] = sum of dy.
RODEO_KERNEL(norm_sums, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                             NormAxis axis, const Tensor& dweight, const Tensor& dbias));
/// Where dweight is undefined, mean and rstd are constants.
RODEO_KERNEL(batch_norm_dx,
             void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                  const Tensor& weight, const Tensor& dweight, const Tensor& dbias, const Tensor& dx));
RODEO_KERNEL(layer_norm_dx, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                                 const Tensor& weight, const Tensor& dx));
/// inverse [m]: 1 / max(|x|, eps), in the accumulator dtype.
RODEO_KERNEL(l2_normalize, void(const Tensor& x, double eps, const Tensor& y, const Tensor& inverse));
RODEO_KERNEL(l2_normalize_backward,
             void(const Tensor& y, const Tensor& inverse, double eps, const Tensor& dy, const Tensor& dx));

}  // namespace rodeo::kernels
