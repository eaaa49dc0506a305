/// A model of the registry, bound to the dataset it is trained on.
#pragma once

#include "datasets/edge_split.h"
#include "train/task/node_run.h"

namespace rodeo {

/// Loads options.dataset and builds options.model for it. Throws Error as load_task does.
/// Over several ranks: the rank's share of it, see NodeTask::partition. A collective call.
NodeRun load_run(const TrainOptions& options, Device device, const Communicator& ranks = {});
/// The same for a dataset in memory.
NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device, const Communicator& ranks = {});
/// The same for link prediction, with the edges that a file names (load_edge_split).
NodeRun make_run(Dataset dataset, const EdgeSplit& edges, const TrainOptions& options, Device device,
                 const Communicator& ranks = {});
/// The same without an objective, for predictions: messages pass over all edges.
NodeRun make_prediction_run(Dataset dataset, const TrainOptions& options, Device device);

/// What the options of a command say of training. Timer, watch and stop are the caller's.
TrainerOptions trainer_options(const TrainOptions& options);

/// A trainer of the run's objective, or of its classification of nodes, over the run's ranks.
Trainer make_trainer(const NodeRun& run, TrainerOptions options);

}  // namespace rodeo
