/// Splits of the edges of relations for link prediction.
#pragma once

#include <cstddef>
#include <vector>

#include "datasets/hetero_dataset.h"
#include "train/task/link_task.h"

namespace rodeo {

/// Positions of the relations that are predicted: those that options.relation names, by "name" or
/// "source:name:target", else all of the file; of a relation and its "rev_" name the first alone. Throws
/// Error for an unknown name, and for several relations without a decoder that tells them apart.
std::vector<std::size_t> find_link_relations(const HeteroDataset& dataset, const TrainOptions& options);

/// The pairs of a relation: those of its node types, which are numbered one behind the other.
PairRange pairs_of_relation(const HeteroDataset& dataset, const HeteroRelation& relation);

/// Splits the edges of these relations. Takes the validation and test edges out of `dataset`, also of a
/// relation that is the "rev_" of theirs: its messages are then training edges alone. Self loops and
/// duplicate edges of these relations are dropped. Throws Error where a part has no edge.   device: of the
/// graphs
std::vector<LinkRelation> take_relation_splits(HeteroDataset& dataset, const TrainOptions& options,
                                               Device device);

}  // namespace rodeo
