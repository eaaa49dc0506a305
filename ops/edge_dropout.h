/// Dropout of edge values, with a mask that is a function of the edge's end points.
#pragma once

#include "core/adjacency.h"
#include "core/random.h"
#include "core/variable.h"

namespace rodeo {

/// y[e, h] = x[e, h] / (1 - p) with probability 1 - p, else 0.
///   x        [edges, heads]   in adj's edge order; f64, f32, bf16 or f16, on the device of adj
///   returns  [edges, heads]
/// The mask is a function of (key, row, column, head), not of the edge's position: a kernel that runs over
/// the transpose of adj computes the same mask without edge ids. Parallel edges have the same end points and
/// therefore the same mask; each edge is kept with probability 1 - p. CPU and CUDA have the same mask.
/// p = 0 returns x. With first_head, x has the heads from that one on of more, and draws their mask.
/// Gradient: dx is dy with the same mask and scale. Deterministic.
/// Throws rodeo::Error when shapes or devices disagree, for p outside [0, 1), and for first_head < 0.
Tensor edge_dropout(const Adjacency& adj, const Tensor& x, double p, RandomKey key,
                    std::int64_t first_head = 0);
Variable edge_dropout(const Adjacency& adj, const Variable& x, double p, RandomKey key,
                      std::int64_t first_head = 0);

/// The random words of heads 4 quad .. 4 quad + 3 for the edge from `col` to `row`. A head is dropped where
/// to_unit(word) < p.
RODEO_HOST_DEVICE Philox4 edge_words(RandomKey key, std::uint32_t row, std::uint32_t col,
                                     std::uint32_t quad) {
  const std::uint64_t edge = (static_cast<std::uint64_t>(key.first_row) + row) << 32 | col;
  return philox(key.seed + quad * 0x9E3779B97F4A7C15u, key.stream_now(), edge);
}

}  // namespace rodeo
