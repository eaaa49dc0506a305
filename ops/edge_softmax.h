/// Softmax over the edges of each row, which turns attention scores into attention weights.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

/// y[e, h] = exp(s[e, h] - max) / sum, where the maximum and the sum of exponentials are over the edges of
/// e's row.
///   score    [edges] or [edges, heads]  in adj's edge order; f64, f32, bf16 or f16, on adj's device
///   returns  the same shape             sums to 1 over the edges of each row, in each head
/// Scores of any size do not overflow. A score of -inf gives 0, also in a row where all scores are -inf. A
/// NaN or +inf makes the whole row NaN in its head. Sums are accumulated in f32 (f64 for f64) or better.
/// Gradient: dscore = y (dy - sum over the row of y dy).
/// Deterministic: same inputs, same device, same bits.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor edge_softmax(const Adjacency& adj, const Tensor& score);
Variable edge_softmax(const Adjacency& adj, const Variable& score);

}  // namespace rodeo
