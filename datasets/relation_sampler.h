/// Mini-batches of heterogeneous graphs: each relation is sampled apart, as by PyG's NeighborLoader.
#pragma once

#include <cstdint>
#include <vector>

#include "datasets/sampled_batch.h"
#include "ops/hetero_graph.h"

namespace rodeo {

/// What a NeighborSampler knows of the relations of its graph.
struct SampledRelations {
  SampledRelations(HeteroGraph graph, int target);

  HeteroGraph graph;
  int target = 0;                       // the type of the nodes of batches
  std::vector<std::int64_t> row_ptr;    // of graph.by_target(), on the host
  std::vector<std::int32_t> number_of;  // of each node in a block; -1 between calls
};

/// [rows + nodes, rows + nodes]: graph.by_target() with its nodes numbered behind its rows, so that a row
/// and a node never have the same number. Throws Error for more than 2^31 - 1 of them, and for a graph that
/// is a block.
Adjacency behind_rows(const HeteroGraph& graph);

/// NeighborSampler::sample_checked() by relations.
///   rows   behind_rows() of their graph
///   marks  make_node_marks() of `rows`
SampledBatch sample_relations(SampledRelations& relations, const Adjacency& rows,
                              const NeighborSamplerOptions& options, const Tensor& marks,
                              const Tensor& targets, std::int64_t epoch, std::int64_t batch);

/// The heterogeneous graph of a block of `whole`, on the device of `whole`: its nodes of each type are in the
/// order of block.sources.
HeteroGraph block_graph(const HeteroGraph& whole, const Block& block);

/// Numbers of nodes among all types, i64 [k] -> for each type those of its nodes within the type, in their
/// order: i64, on the device of `graph`.
std::vector<Tensor> nodes_by_type(const HeteroGraph& graph, const Tensor& nodes);

}  // namespace rodeo
