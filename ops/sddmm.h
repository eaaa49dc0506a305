/// Sampled dense-dense products: a function of two rows at every edge.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

enum class SddmmOp {
  kDot,  // sums over the last dimension
  kAdd,  // element by element
  kMul,
};
std::string_view name(SddmmOp op);
std::ostream& operator<<(std::ostream& out, SddmmOp op);

/// s[e] = weight[e] * op(b1[row(e)], b2[col(e)])  at the edges of adj.
///   b1      [rows, k] or [rows, heads, k]
///   b2      [cols, k] or [cols, heads, k]   the same rank, heads and k as b1; any of them may be 0
///   weight  [edges]   in adj's edge order, shared by all heads; omit it for ones
///   returns, in adj's edge order:
///     kDot        [edges] or [edges, heads]:  s[e, h] = weight[e] * sum over j of b1[i, h, j] b2[c, h, j]
///     kAdd, kMul  [edges, k] or [edges, heads, k]
/// f64, f32, bf16 or f16; all operands and adj of one dtype and device; 16-bit types are computed in f32.
/// Gradients, where S holds weight * ds at adj's edges:
///   kDot  db1 = S B2,  db2 = S^T B1, for each head (see spmm.h)
///   kAdd  db1 = sums of S over the edges of each row,  db2 = the same over each column (see edge_sum.h)
///   kMul  as kDot, with every element of a row as a head of width one
///   dweight[e] = <ds[e], op(b1[row(e)], b2[col(e)])>
/// Deterministic: same inputs, same device, same bits.
/// On CUDA a dot of rows that are no multiple of 16 bytes, or not aligned to them, reads b2 from a temporary
/// copy with rows that are. Where rows of adj are short, its edges' rows are made once and kept on adj, 4
/// bytes an edge. The decomposition into rows is that of Pang et al., RoDe, PPoPP 2024. Throws rodeo::Error
/// when shapes, dtypes or devices disagree.
Tensor sddmm(const Adjacency& adj, const Tensor& b1, const Tensor& b2, SddmmOp op = SddmmOp::kDot,
             const Tensor& weight = {});
Variable sddmm(const Adjacency& adj, const Variable& b1, const Variable& b2, SddmmOp op = SddmmOp::kDot,
               const Variable& weight = {});

}  // namespace rodeo
