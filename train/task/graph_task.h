/// Classification and regression of the graphs of a set.
#pragma once

#include "core/communicator.h"
#include "train/task/node_run.h"

namespace rodeo {

/// The graphs of a fold: fold `k` is tested on, the next one validates, the others are for training.
///   label    i64 [graphs], u8 [graphs, tasks] or, of regression, f32 [graphs, targets]; on the host
///   returns  i64, ascending, on the host: a function of label, folds and seed on every machine
/// Each class is dealt evenly to the folds, in a random order. Graphs with several labels or numbers are
/// dealt as one class; those whose values are all missing are in no part. Throws Error for k outside [0,
/// folds), and a part without a graph.
Split fold_split(const Tensor& label, int folds, int k, std::uint64_t seed);

/// Labels and split of a set of graphs in the places of those of nodes: for training those of fold
/// options.fold, else none. Nodes without features get a column of ones. Throws Error for a dataset without
/// graphs or, to train, labels of graphs. Over ranks, which have the whole set each, a collective call.
void use_graphs(Dataset& dataset, const TrainOptions& options, bool trains, const Communicator& ranks);

/// The features of the nodes of a set, scaled by those of its training graphs, on the device.
void add_graph_features(NodeTask& task, const Dataset& dataset, const TrainOptions& options, Device device);

/// The classifier of a set of graphs. It trains on mini-batches in a new order in each epoch, and evaluates
/// all graphs at once; over task.ranks each computes fractions of batches and of evaluations.
///   task   of the graphs (use_graphs), with dense features
NodeModel make_graph_model(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph,
                           const Tensor& graph_ptr);

}  // namespace rodeo
