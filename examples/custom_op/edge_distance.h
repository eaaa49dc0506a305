/// A custom operator: the squared distance between the features of the two nodes of each edge.
#pragma once

#include "rodeo/core/adjacency.h"
#include "rodeo/core/variable.h"

/// d[e] = sum over k of (x[row(e), k] - x[col(e), k])^2
///   x        [nodes, k]  f32 or f64, on the device of adj, which is square
///   returns  [edges]     in adj's edge order
/// Gradient, with S = dd at adj's edges:  dx = 2 (row sums of S + column sums of S) x - 2 (S x + S^T x).
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree.
rodeo::Tensor edge_distance(const rodeo::Adjacency& adj, const rodeo::Tensor& x);
rodeo::Variable edge_distance(const rodeo::Adjacency& adj, const rodeo::Variable& x);
