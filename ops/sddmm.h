/// SDDMM: sampled dense-dense matrix multiplication. It computes one value (or row) for each edge from the
/// rows of its two end points.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/sddmm_types.h"

namespace rodeo {

/// s[e] = weight[e] * op(b1[row(e)], b2[col(e)])  for each edge e of adj.
///   b1      [rows, k] or [rows, heads, k]
///   b2      [cols, k] or [cols, heads, k]   the rank, heads and k of b1; each of them may be 0
///   weight  [edges]   in adj's edge order, shared by all heads; leave it out for ones
///   returns, in adj's edge order:
///     kDot        [edges] or [edges, heads]:  s[e, h] = weight[e] * sum over j of b1[i, h, j] b2[c, h, j]
///     kAdd, kMul  [edges, k] or [edges, heads, k]
/// f64, f32, bf16 or f16; all operands and adj of one dtype and device; 16-bit types are accumulated in f32.
/// Gradients, where S is the sparse matrix of weight * ds:
///   kDot  db1 = S B2,  db2 = S^T B1, for each head (see spmm.h)
///   kAdd  db1 = row sums of S,  db2 = column sums of S (see edge_sum.h)
///   kMul  as kDot, where each element of a row is a head of width one
///   dweight[e] = <ds[e], op(b1[row(e)], b2[col(e)])>
/// The algorithm is an option of kDot. kAdd and kMul always go by rows. kAuto on CUDA times both at the first
/// call for a graph, heads, k, dtype and with or without weights, and keeps the choice on the graph and in
/// the cache folder (core/cache_folder.h). Small problems (KernelTuning::kSmall), graphs that are used once
/// and calls inside a CUDA graph capture without such a choice take the one that sddmm_rule names
/// (ops/sddmm_tuner.h); on one element a row both are the same product.
/// Deterministic: same inputs, same device, same algorithm, same bits. kAuto repeats its bits in later runs
/// too while the cache folder has its choice; without it, where one takes 2 % longer than the other
/// (KernelTuning::kTie), noise can decide.
/// Memory on CUDA: a dot product whose rows are not aligned to 16 bytes reads b2, and kEdges b1 too, from a
/// temporary padded copy. kEdges caches the row of each edge on adj, 4 bytes an edge.
/// Source: kRows is RoDe's SDDMM (Pang et al., PPoPP 2024).
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for kEdges with kAdd or kMul.
Tensor sddmm(const Adjacency& adj, const Tensor& b1, const Tensor& b2, SddmmOp op = SddmmOp::kDot,
             const Tensor& weight = {}, const SddmmOptions& options = {});
Variable sddmm(const Adjacency& adj, const Variable& b1, const Variable& b2, SddmmOp op = SddmmOp::kDot,
               const Variable& weight = {}, const SddmmOptions& options = {});

}  // namespace rodeo
