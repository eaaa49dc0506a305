/// Fused row scale, bias, activation and dropout: what a layer applies between two sparse products.
#pragma once

#include "core/variable.h"
#include "ops/epilogue_types.h"

namespace rodeo {

/// y[i, j] = post_scale[i] dropout(f(pre_scale[i] x[i, j] + b[j])) in one kernel launch: the composition of
/// scale_rows, add_bias, f, dropout and scale_rows. Parts that are not set are left out.
///   x        [m, pitch], pitch >= n: columns from n on are padding and are not read
///   bias     [n]; undefined for no bias
///   columns  n, where there is no bias; 0: pitch
///   returns  [m, n]
/// f64, f32, bf16 or f16; all operands of one dtype and device. With 16-bit x, bias and scales may be f32.
/// 16-bit types are rounded once, at the end.
/// Gradients: dx[i, j] = pre_scale[i] g[i, j], zero in the padding. db[j] = sum over i of g[i, j], in the
/// dtype of bias. Here g[i, j] = post_scale[i] f' dy[i, j] / (1 - p) where the element was kept, else 0. For
/// ReLU backward keeps the signs of y, a byte for 4 elements, and not y; for ELU, f' is computed from y. With
/// `recompute`, backward saves the memory of y; this helps where x is kept anyway. The bits are the same.
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree, and for p outside [0, 1).
Tensor epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options,
                std::int64_t columns = 0);
Variable epilogue(const Variable& x, const Variable& bias, const EpilogueOptions& options,
                  std::int64_t columns = 0);
Variable epilogue(Variable&& x, const Variable& bias, const EpilogueOptions& options,
                  std::int64_t columns = 0);

}  // namespace rodeo
