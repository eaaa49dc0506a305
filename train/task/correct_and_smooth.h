/// Label propagation, alone and as a step after training.
#pragma once

#include "core/adjacency.h"
#include "core/tensor.h"

namespace rodeo {

/// Correct and Smooth (Huang et al., "Combining label propagation and simple models out-performs graph neural
/// networks", ICLR 2021), with the parameters that its authors published for an MLP on ogbn-arxiv. With
/// one-hot labels Y of the nodes `train`, and P(S, a, x, z) = clip of (1 - a) x + a S z, 50 times from z = x:
///   correct  E = P(D^-1 A, 0.979, Y - probability on train and 0 elsewhere), clipped to [-1, 1];
///            row i of Z = row i of probability + s_i E, where s_i makes the sum of |s_i E| the mean of that
///            of Y - probability over train; s_i = 1 where it would exceed 1000
///   smooth   P(A D^-1, 0.756, Y on train and Z elsewhere), clipped to [0, 1]
///   probability  f32 or f64 [nodes, classes];   label  i64 [nodes], read at train;   train  i64 [k]
///   returns      [nodes, classes], rows need not sum to 1
/// Without gradients. Deterministic. Throws Error when shapes disagree, for a graph that is not square, and
/// for an empty train or a label of it out of range.
Tensor correct_and_smooth(const Adjacency& adj, const Tensor& probability, const Tensor& label,
                          const Tensor& train);

/// Label propagation (Zhou et al., "Learning with local and global consistency", NeurIPS 2003): in the words
/// above P(D^-1/2 A D^-1/2, 0.9, Y on train and 0 elsewhere), clipped to [0, 1]. PyG's LabelPropagation(50,
/// 0.9).
///   returns  f64 [nodes, classes]; rows need not sum to 1, those of nodes that no label reaches are 0
/// Deterministic. Throws Error as above.
Tensor label_propagation(const Adjacency& adj, const Tensor& label, const Tensor& train,
                         std::int64_t classes);

}  // namespace rodeo
