/// A mini-batch of sampled neighbourhoods, and how it is sampled.
#pragma once

#include <cstdint>
#include <vector>

#include "core/adjacency.h"
#include "ops/sample_types.h"

namespace rodeo {

/// The graph of one layer of one batch. Its sources are what the layer reads, its destinations what it
/// computes. The first destinations.numel() sources are the destinations, so x_dst is x_src.slice(0,
/// adj.rows()).
struct Block {
  Adjacency adj;    // [destinations, sources]; row i holds the sampled edges into destination i
  Tensor edge_ids;  // i64 [edges]: the edge of the graph, for take() of edge weights and features
  Tensor sources;   // i64 [sources]: nodes of the graph
};

/// One mini-batch. A model of L layers computes, with h = gather_rows(x, batch.inputs()),
///   h = layer[l](blocks[l].adj, {h, h.slice(0, blocks[l].adj.rows())})   for l = 0 .. L - 1
/// and the last h belongs to `targets`.
struct SampledBatch {
  std::vector<Block> blocks;  // of layer 0 first
  Tensor targets;             // i64 [batch size]
  Tensor features = {};       // [inputs, n], of inputs(), where something read them already; else undefined
  /// The nodes whose features layer 0 reads: i64.
  const Tensor& inputs() const { return blocks.front().sources; }
};

struct NeighborSamplerOptions {
  /// Edges of a node, at most: of a target first, then hop by hop, as PyG's num_neighbors. kAllNeighbors: all
  /// edges. There is a block for each entry; the first entry belongs to the last layer.
  std::vector<std::int64_t> fanout;
  bool replace = false;  // draw edges with replacement
  std::uint64_t seed = 0;
};

}  // namespace rodeo
