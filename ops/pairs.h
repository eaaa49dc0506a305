/// Scores of pairs of nodes: SDDMM on a list of pairs that may change in every step, as the drawn pairs of
/// link prediction do. For the edges of a graph that stays the same, sddmm() on its Adjacency is faster.
#pragma once

#include "core/variable.h"

namespace rodeo {

/// s[i] = <a[src[i], :], b[dst[i], :]>: the dot product decoder of link prediction (Kipf & Welling,
/// "Variational graph auto-encoders", 2016).
///   a        [m, n]   f64, f32, bf16 or f16; 16-bit types are accumulated in f32
///   b        [p, n]   dtype of a; may be a itself
///   src      i64 [k]  in [0, m); checked as index_checks.h says
///   dst      i64 [k]  in [0, p); the same
///   returns  [k]      on CUDA NaN where an index is out of range
/// m, p and k are at most 2^31 - 1; pairs may repeat, in any order.
/// Gradients: da[r] = sum of ds[i] b[dst[i]] over all i with src[i] = r, in the order of i; db alike. They
/// sort the indices on their device and do not wait for it: a CUDA graph can record them.
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for an index out of range.
Tensor pair_dot(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst);
Variable pair_dot(const Variable& a, const Variable& b, const Tensor& src, const Tensor& dst);

/// y[i, :] = a[src[i], :] b[dst[i], :], elementwise: the input of a Hadamard-MLP decoder.
///   a, b     f64, f32, bf16 or f16 matrices, as for pair_dot()
///   returns  [k, n]   on CUDA NaN where an index is out of range
/// Gradients: da[r] = sum of dy[i] b[dst[i]] over all i with src[i] = r, elementwise; db alike.
/// Operands, limits, determinism and errors as for pair_dot().
Tensor pair_mul(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst);
Variable pair_mul(const Variable& a, const Variable& b, const Tensor& src, const Tensor& dst);

}  // namespace rodeo
