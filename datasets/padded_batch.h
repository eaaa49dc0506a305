/// A sampled batch in memory of fixed sizes, for a training step that is captured once.
#pragma once

#include <cstdint>
#include <vector>

#include "datasets/neighbor_sampler.h"
#include "ops/padded_graph.h"

namespace rodeo {

/// The sizes of every block are the most that the fan-outs allow, so that each batch of `targets` nodes fits.
/// Rows beyond those of the loaded batch have no edges. Sources beyond are some node of the graph: their
/// features are finite, and no edge reads them (features that come with the batch: zeros, or those of an
/// earlier batch). The work on it takes sums, means or attention over
/// neighbours (PaddedGraph says which). Deterministic.
class PaddedBatch {
 public:
  /// Memory for batches of `targets` nodes. Throws Error for a fan-out kAllNeighbors, which has no most.
  PaddedBatch(const Adjacency& graph, const NeighborSamplerOptions& options, std::int64_t targets);

  /// One set of tensors for the lifetime of this object: load() overwrites them in stream order.
  const SampledBatch& batch() const { return padded_; }
  /// Computes what load() copies of a batch besides its arrays: on another stream than load(), perhaps.
  void prepare(const SampledBatch& batch) const;
  /// Enqueues copies of a batch of `targets` nodes, and of its features where it has them: all batches or
  /// none. Nothing waits.
  void load(const SampledBatch& batch);
  /// See PaddedGraph.
  void keep_what_was_used();

 private:
  SampledBatch padded_;
  std::vector<PaddedGraph> graphs_;  // of the blocks
  Tensor filler_;                    // i64 [most sources]: nodes for the sources beyond those of a batch
};

}  // namespace rodeo
