/// Backend signatures: normalisation layers. See registry.h for what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"
#include "ops/norm_types.h"

namespace rodeo::kernels {

// norm.h; mean, rstd, dweight, dbias in the sums' dtype; weight and bias may be undefined
enum class NormAxis { kColumns, kRows };  // which of them mean and rstd belong to
/// running may have undefined members.
RODEO_KERNEL(batch_stats, void(const Tensor& x, double eps, double momentum, const RunningStats& running,
                               const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(row_stats, void(const Tensor& x, double eps, const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(normalize, void(const Tensor& x, const Tensor& mean, const Tensor& rstd, NormAxis axis,
                             const Tensor& weight, const Tensor& bias, const Tensor& y));
/// dweight[j] = sum over i of dy (x - mean) rstd, or of dy x without them;  dbias[j] = sum over i of dy.
RODEO_KERNEL(norm_sums, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                             NormAxis axis, const Tensor& dweight, const Tensor& dbias));
/// Without dweight, mean and rstd are constants.
RODEO_KERNEL(batch_norm_dx,
             void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                  const Tensor& weight, const Tensor& dweight, const Tensor& dbias, const Tensor& dx));
RODEO_KERNEL(layer_norm_dx, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                                 const Tensor& weight, const Tensor& dx));
/// inverse [m]: 1 / max(|x|, eps), in the sums' dtype.
RODEO_KERNEL(l2_normalize, void(const Tensor& x, double eps, const Tensor& y, const Tensor& inverse));
RODEO_KERNEL(l2_normalize_backward,
             void(const Tensor& y, const Tensor& inverse, double eps, const Tensor& dy, const Tensor& dx));

}  // namespace rodeo::kernels
