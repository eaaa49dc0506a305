/// What is left to do once the edges of fused attention have been passed backward.
#pragma once

#include "ops/kernels/attention.h"

namespace rodeo::kernels::cuda {

/// Of every column j, summed over its edges: `all` (in dx) and `positive` [cols, heads, k] are the sums of
/// a mask dy over all edges and over those of positive score, `minus` [cols, heads] the sum of a lead D (see
/// attention_backward.cu).
struct EdgeSums {
  Tensor positive, minus;
};

/// Writes dt = <x, slope all + (1 - slope) positive> - minus. With vectors it finishes dx and the vectors'
/// gradients instead, and needs ds.
void attention_gradients(const Csr& transposed, double slope, const Tensor& x, const EdgeSums& sums,
                         const AttentionGradients& gradients, const AttentionVectors& vectors);

}  // namespace rodeo::kernels::cuda
