/// Random pairs of nodes without an edge.
#pragma once

#include "core/adjacency.h"
#include "core/random.h"
#include "ops/negative_edges_types.h"

namespace rodeo {

/// Pairs of nodes; pair i goes from src[i] to dst[i].
struct NodePairs {
  Tensor src, dst;       // i64 [k]
  Tensor relation = {};  // i64 [k], of a graph with several; undefined: all are of relation 0
};

/// Draws `count` pairs, independently and uniformly from all pairs (src, dst) in the range `among` of a
/// square graph with src != dst for which row dst of adj has no column src. A pair may be drawn twice.
///   adj      rows sorted by column, as coo_to_csr() returns them; of unsorted rows, edges may be drawn
///   returns  i64 [count] each, on the device of adj
/// Each pair is drawn up to 64 times; after that the next free pair in the order of (dst, src) is taken, so
/// that on nearly complete graphs the draw is only nearly uniform.
/// Pair i is a function of adj, key and key.first_row + i, so that a rank draws its share of larger vectors.
/// It is the same on the CPU and on CUDA. In a training step every replay of a CUDA graph draws new pairs
/// (core/random.h). Does not wait for the device. Throws rodeo::Error for a graph that is not square, a
/// negative count, a range outside its nodes, and a graph whose number of edges may leave no pair: n (n - 1)
/// or more for n nodes.
NodePairs negative_edges(const Adjacency& adj, std::int64_t count, RandomKey key,
                         const PairRange& among = {});
/// Writes the same pairs to the i64 vectors src and dst of `out`, of one length, on the device of adj.
void negative_edges(const Adjacency& adj, RandomKey key, const NodePairs& out, const PairRange& among = {});

}  // namespace rodeo
