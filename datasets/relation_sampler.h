/// Mini-batches of heterogeneous graphs: each relation is sampled apart, as by PyG's NeighborLoader.
#pragma once

#include <cstdint>
#include <vector>

#include "datasets/sampled_batch.h"
#include "ops/hetero_graph.h"

namespace rodeo {

/// The graph that a NeighborSampler samples by relations.
struct SampledRelations {
  HeteroGraph graph;
  int target = 0;  // the type of the nodes of batches; -1: nodes are numbered among all types
};

/// NeighborSampler::sample_checked() by relations, on the device of the graph.
///   marks  make_node_marks() of graph.by_target()
SampledBatch sample_relations(const SampledRelations& relations, const NeighborSamplerOptions& options,
                              const Tensor& marks, const Tensor& targets, std::int64_t epoch,
                              std::int64_t batch);

/// The heterogeneous graph of a block of `whole`, on its device: its nodes of each type are in the order of
/// block.sources. The host waits for the device.
HeteroGraph block_graph(const HeteroGraph& whole, const Block& block);

/// Numbers of nodes among all types, i64 [k], sorted by type, in the order of block_graph(). The host waits
/// for the device.
Tensor sort_by_type(const HeteroGraph& graph, const Tensor& nodes);

/// Numbers of nodes among all types, i64 [k] -> for each type those of its nodes within the type, in their
/// order: i64. The host waits for the device.
std::vector<Tensor> nodes_by_type(const HeteroGraph& graph, const Tensor& nodes);

}  // namespace rodeo
