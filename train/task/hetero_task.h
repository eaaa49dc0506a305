/// Classification and regression of the nodes of one type, and links of relations, in a graph of several node
/// types and relations.
#pragma once

#include "core/communicator.h"
#include "datasets/hetero_dataset.h"
#include "train/task/node_run.h"

namespace rodeo {

/// Throws Error for options that models of relations do not have yet, with the reason.
void check_hetero_options(const TrainOptions& options);

/// Builds options.model for the target type of `dataset`, which is on the host. With options.undirected each
/// relation gets its reverse. Node types without features get trainable rows. Predictions are of the target
/// type's nodes; of links, embeddings of all nodes. Throws Error where no relation leads to the target type.
/// Over ranks each trains on a fraction of a batch, or without batches has the edges into its range of the
/// nodes of each type: all have the dataset.
NodeRun make_hetero_run(HeteroDataset dataset, const TrainOptions& options, Device device,
                        const Communicator& ranks = {});

/// Without a criterion, for predictions of `classes` columns for nodes of the type that `trained` names; of
/// links, for scores of pairs.
/// Features are scaled as in training. Throws Error for other types, features and relations than those.
NodeRun make_hetero_prediction_run(HeteroDataset dataset, const TrainedTypes& trained, std::int64_t classes,
                                   const TrainOptions& options, Device device);

}  // namespace rodeo
