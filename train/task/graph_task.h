/// Classification and regression of the graphs of a set.
#pragma once

#include <vector>

#include "core/communicator.h"
#include "train/task/node_run.h"

namespace rodeo {

/// The graphs of a fold: fold `k` is tested on, the next one validates, the others are for training.
///   label    i64 [graphs] or, of regression, f32 [graphs, targets]; on the host
///   returns  i64, ascending, on the host: a function of label, folds and seed on every machine
/// Each class is dealt evenly to the folds, in a random order. Graphs with targets are dealt as one class;
/// those whose targets are all missing are in no part.
/// Throws Error for k outside [0, folds), and a part without a graph.
Split fold_split(const Tensor& label, int folds, int k, std::uint64_t seed);

/// Builds options.model for fold options.fold of a set of graphs. The run's labels and split are of graphs.
/// It trains on mini-batches in a new order in each epoch, and evaluates all graphs at once. Over several
/// ranks each has the whole set, and computes fractions of batches and of evaluations. Throws Error for a
/// dataset without graphs or labels of graphs.
NodeRun make_graph_run(Dataset dataset, const TrainOptions& options, Device device,
                       const Communicator& ranks = {});
/// make_graph_run() without labels, folds and criterion, for predictions of dataset.num_classes classes.
NodeRun make_graph_prediction_run(Dataset dataset, const TrainOptions& options, Device device);

}  // namespace rodeo
