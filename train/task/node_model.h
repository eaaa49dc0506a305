/// A model of the registry, bound to the dataset it is trained on.
#pragma once

#include "train/task/data_source.h"
#include "train/task/node_run.h"

namespace rodeo {

/// The plan that the functions below carry out. Throws Error as check_hdf5_file() and plan_run() do, and
/// where one of model and data is of one node type, and the other of several. A collective call.
RunPlan plan_source(const DataSource& source, const TrainOptions& options, Device device,
                    const Communicator& ranks = {});

/// Loads the data and builds options.model for them. Throws Error as plan_source() and load_dataset() do.
/// Over several ranks: the rank's nodes of it, see NodeTask::partition. A collective call.
///   source  in memory: options.split is one of dataset.splits, or random
NodeRun make_run(DataSource source, const TrainOptions& options, Device device,
                 const Communicator& ranks = {});
/// make_run() of the file options.dataset.
NodeRun load_run(const TrainOptions& options, Device device, const Communicator& ranks = {});
/// make_run() of a dataset in memory.
NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device, const Communicator& ranks = {});
/// Without an objective, for predictions of dataset.num_classes classes: messages pass over all edges. Labels
/// are not read, and the split for statistics of features alone.
NodeRun make_prediction_run(Dataset dataset, const TrainOptions& options, Device device);

/// What the options of a command say of training. Timer, watch and stop are the caller's.
inline const TrainerOptions& trainer_options(const TrainOptions& options) {
  return options;
}

/// The parts of training that a run has, over its ranks.
TrainerParts trainer_parts(const NodeRun& run);
Trainer make_trainer(const NodeRun& run, const TrainerOptions& options);

}  // namespace rodeo
