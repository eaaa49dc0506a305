/// Mini-batches of random parts of a graph: all edges between the nodes of a part (as in Luo, Shi, Wu,
/// "Classic GNNs are strong baselines", NeurIPS 2024, on large graphs).
#pragma once

#include <cstdint>
#include <vector>

#include "datasets/neighbor_sampler.h"

namespace rodeo {

/// Cuts all nodes of a graph into parts of nearly equal size, anew each epoch. A part is a function of (seed,
/// epoch, its number): the same on every device. Memory: 4 bytes a node of the graph on its device, 9 on the
/// host. One thread at a time may use it; copies share its memory.
class NodeParts {
 public:
  struct Part {
    Tensor nodes;                               // i64 [k], on the device of the graph; the targets first
    std::int64_t targets = 0;                   // at least 1
    std::vector<std::int64_t> target_ids = {};  // the targets, on the host
  };
  /// graph [n, n]; targets i64 [t], different nodes, read on the host; part_size: the most nodes of a part;
  /// layers: blocks of a batch. Throws Error for a graph that is not square, other targets, and sizes
  /// below 1.
  NodeParts(const Adjacency& graph, const Tensor& targets, std::int64_t part_size, int layers,
            std::uint64_t seed = 0);

  /// The parts of an epoch that have targets: each target is in one of them.
  std::vector<Part> epoch(std::int64_t epoch) const;
  /// The batch of a part. Its blocks are one square graph [k, k], the induced subgraph, whose node i is
  /// part.nodes[i]; a model's first part.targets rows belong to `targets`. Waits for the device.
  SampledBatch sample(const Part& part) const;
  const Adjacency& graph() const { return graph_; }
  const std::vector<std::int64_t>& targets() const { return targets_; }

 private:
  Adjacency graph_;
  std::vector<std::int64_t> targets_;
  std::vector<std::uint8_t> is_target_;
  std::int64_t part_size_;
  int layers_;
  std::uint64_t seed_;
  Tensor marks_;  // of sample_neighbors()
};

}  // namespace rodeo
