/// Mini-batches of link prediction.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "train/batch_sampler.h"

namespace rodeo {

struct PairBatchOptions {
  std::int64_t batch_size = 0;  // edges of all ranks
  std::uint64_t seed = 0;
  bool undirected = false;  // an edge is left out in both directions
};

/// Batches of training edges in a new order each epoch, and as many pairs without an edge, drawn anew. The
/// targets of a batch are the nodes of all of these. The edges of a batch are left out of its sampled
/// neighbourhoods: a model that read them would know the answer. The host waits for the device to do so.
/// Deterministic: the pairs of a batch are those of one rank, of which each rank has a fraction.
class PairBatchSampler : public NodeBatchSampler {
 public:
  /// edges: training edges, on the host. graph: what has no negative. sampler: of the graph that messages
  /// pass over, which may have self loops too.
  PairBatchSampler(const NodePairs& edges, Adjacency graph, NeighborSampler sampler,
                   const PairBatchOptions& options, Communicator ranks = {});

  std::vector<Step> epoch(std::int64_t epoch, std::int64_t done) override;
  SampledBatch sample(std::size_t step) override;
  NodePairs pairs(std::size_t step) override;

 private:
  std::vector<std::int64_t> src_, dst_;
  Adjacency graph_;
  PairBatchOptions options_;
  std::vector<Step> steps_;                 // of the epoch: batches of numbers of edges
  std::map<std::size_t, NodePairs> pairs_;  // of the steps that are sampled, and not yet asked for
};

/// A block without the edges from column `source` to row `destination`, both nodes of the graph.
///   left_out  pairs (destination, source), ascending
Block without_edges(const Block& block, const std::vector<std::pair<std::int64_t, std::int64_t>>& left_out);

}  // namespace rodeo
