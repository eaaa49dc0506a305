/// Splits of the edges of relations for link prediction.
#pragma once

#include <vector>

#include "datasets/hetero_dataset.h"
#include "train/task/link_task.h"

namespace rodeo {

/// The relations that options.relation names, by "name" or "source:name:target", else all of the file; of a
/// relation and its "rev_" name the first alone. Nodes of their pairs are numbered over all types.
/// Takes the validation and test edges out of `dataset`, also of a relation that is the "rev_" of theirs: its
/// messages are then training edges alone. Self loops and duplicate edges of these relations are dropped.
/// Throws Error for an unknown name, for several relations without a decoder that tells them apart, and where
/// a part has no edge.   device: of the graphs
std::vector<LinkRelation> take_relation_splits(HeteroDataset& dataset, const TrainOptions& options,
                                               Device device);

}  // namespace rodeo
