/// Mini-batches of sampled neighbourhoods (GraphSAGE; Hamilton, Ying, Leskovec, NIPS 2017).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/adjacency.h"
#include "datasets/sampled_batch.h"

namespace rodeo {

class HeteroGraph;
struct SampledRelations;

/// Samples the neighbourhoods of batches on the device of the graph, layer by layer: each node of a layer is
/// sampled once and keeps `fanout` edges (sample_neighbors.h has the distribution), over relations `fanout`
/// edges of each.
/// A batch is a function of (seed, epoch, batch, layer, node): the same on the CPU and on CUDA, in any order
/// of batches. Memory: 4 bytes a node of the graph, and the batch. The host waits for the device once a
/// batch, and once more for every fan-out kAllNeighbors. One thread at a time may use a sampler; copies share
/// its memory.
class NeighborSampler {
 public:
  /// graph [n, n]: rows are destinations. Of a graph that is sharded over ranks, targets and samples are
  /// those of the whole graph, and this constructor and sample() are collective calls. Throws Error for a
  /// graph that is not square, no fan-outs, more than 255 of them, and a fan-out of 0 or below -1.
  NeighborSampler(const Adjacency& graph, NeighborSamplerOptions options);

  /// By relations: a fan-out is of each relation that leads to a node. Targets are nodes of type `target`,
  /// by their numbers within it; -1: of any type, numbered among all. So are sources; edges are numbered as
  /// in HeteroGraph (datasets/relation_sampler.h makes graphs of blocks). The host waits three times for
  /// each layer. Throws Error also for a graph that is a block.
  NeighborSampler(const HeteroGraph& graph, int target, NeighborSamplerOptions options);

  /// targets: i64 [k], different nodes of the graph. Throws Error that names a node that is out of range or
  /// occurs twice; that check reads the targets on the host. batch < 2^32, epoch < 2^24.
  SampledBatch sample(const Tensor& targets, std::int64_t epoch = 0, std::int64_t batch = 0) const;
  /// sample() for targets of MiniBatches, which are checked already: nothing is read on the host.
  SampledBatch sample_checked(const Tensor& targets, std::int64_t epoch, std::int64_t batch) const;

  const Adjacency& graph() const { return graph_; }
  /// HeteroGraph::first_edge() of each relation; empty where the graph has one.
  std::vector<std::int64_t> first_edges() const;
  const NeighborSamplerOptions& options() const { return options_; }

 private:
  void check_options() const;

  Adjacency graph_;
  NeighborSamplerOptions options_;
  Tensor marks_;                                       // of sample_neighbors()
  std::shared_ptr<const SampledRelations> relations_;  // null: one relation
};

/// Cuts nodes into batches, in a new random order each epoch: every node is in one batch of an epoch. The
/// last batch may be smaller; one of fewer than `least` nodes joins the batch before it. The order is a
/// function of (seed, epoch).
class MiniBatches {
 public:
  /// nodes i64 [k], different, in [0, num_nodes), read on the host. Batches are on `device`. Throws Error for
  /// other nodes, for a batch size below 1 and for a `least` outside [1, batch size].
  MiniBatches(const Tensor& nodes, std::int64_t num_nodes, std::int64_t batch_size, std::uint64_t seed = 0,
              Device device = kCpu, std::int64_t least = 1);

  std::int64_t size() const;  // batches of an epoch
  const std::vector<std::int64_t>& nodes() const { return nodes_; }
  /// The batches of an epoch: i64 [batch size] each. They share memory.
  std::vector<Tensor> epoch(std::int64_t epoch) const { return cut(order(epoch)); }
  /// The nodes in the order of an epoch, on the host.
  std::vector<std::int64_t> order(std::int64_t epoch) const;
  /// Batches of nodes in this order, as many as nodes(): i64 [batch size] each. They share memory.
  std::vector<Tensor> cut(const std::vector<std::int64_t>& order) const;

 private:
  std::vector<std::int64_t> nodes_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  Device device_;
  std::int64_t least_;
};

}  // namespace rodeo
