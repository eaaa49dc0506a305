/// The shard of one rank of a dataset that is trained over several ranks.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/node_partition.h"
#include "datasets/hetero_dataset.h"
#include "ops/hetero_graph.h"

namespace rodeo {

/// Cuts the nodes of a graph into contiguous ranges of about equal cost, at multiples of 4.   row_pointers:
/// of the whole graph, n + 1. The same on all ranks. dense_features: columns of features that a node has in
/// dense form.
std::shared_ptr<const NodePartition> partition_nodes(std::span<const std::int64_t> row_pointers,
                                                     std::int64_t dense_features, const Communicator& ranks);

/// A partition of the nodes of each type, by their edges of all relations: for HeteroGraph::shard(). graph:
/// of the dataset. A collective call: all ranks throw Error where their graphs differ.
using TypePartitions = std::vector<std::shared_ptr<const NodePartition>>;
TypePartitions partition_types(const HeteroGraph& graph, const HeteroDataset& dataset,
                               const Communicator& ranks);
/// The nodes of all types, those of each rank sorted by type.
std::shared_ptr<const NodePartition> join_partitions(const TypePartitions& types);

/// Features, labels and split of the rank's nodes, numbered from its first one. Edges are left out.
Dataset rank_shard(Dataset dataset, const NodePartition& nodes);

/// All ranks throw Error, "rank 2 has " and `otherwise`, unless all have the same hash. A collective call.
void check_same(std::uint64_t hash, const Communicator& ranks, std::string_view otherwise);
/// For data that every rank loads whole.   values: i64, f32 or u8, on the host. A collective call. All ranks
/// throw Error naming the first rank whose values differ from those of rank 0.
void check_same_data(const std::vector<Tensor>& values, const Communicator& ranks);

}  // namespace rodeo
