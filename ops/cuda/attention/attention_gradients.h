/// The second part of the backward pass of fused attention: from sums over edges to gradients of nodes.
#pragma once

#include "ops/kernels/attention.h"

namespace rodeo::kernels::cuda {

/// Sums over the edges of every column. dx holds the sum of a mask dy over all edges, `positive` [cols,
/// heads, k] the sum over edges with a positive score, `minus` [cols, heads] the sum of a lead D
/// (attention_backward.cu).
struct EdgeSums {
  Tensor positive, minus;
};

/// Writes dt = <x, slope all + (1 - slope) positive> - minus. With vectors it completes dx and writes the
/// gradients of the vectors instead; it reads ds then.
void attention_gradients(const Csr& transposed, double slope, const Tensor& x, const EdgeSums& sums,
                         const AttentionGradients& gradients, const AttentionVectors& vectors);

}  // namespace rodeo::kernels::cuda
