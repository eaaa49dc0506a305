/// What rodeo_predict reads: a dataset, with the model that the weights describe.
#pragma once

#include <string>

#include "core/adjacency.h"
#include "datasets/dataset.h"
#include "train/commands/console.h"
#include "train/commands/link_prediction.h"
#include "train/commands/predict_options.h"
#include "train/io/run_state.h"
#include "train/task/node_run.h"

namespace rodeo {

/// A dataset with the model that predicts it.
struct PredictionRun {
  NodeRun run;
  Dataset known;            // labels, masks and names of the predicted rows
  Adjacency smoothing{};    // with --correct-and-smooth
  ScoredRelations links{};  // of --task link
};

/// Reads options.dataset, of one or several node types, and adds what it says to `info`. The weights are not
/// loaded yet. Throws Error where the dataset does not fit them.   file: of the weights
PredictionRun load_prediction_run(const PredictOptions& options, WeightsInfo& info, const std::string& file,
                                  Device device, const Console& console);

/// Gives the dataset the features that the weights read: those of --input-features and of a set of graphs,
/// and standardised. `info.options` ask for none of these then. Throws Error, "WHERE has ...", where there
/// are none, or not as many as the weights read (info.num_features; 0: any).   dataset: on the host
void prepare_features(Dataset& dataset, WeightsInfo& info, const std::string& where);

/// Labels, masks and names of nodes, on the host, without edges and features. For --task graph those of
/// graphs: labels, and the fold of training.
Dataset take_labels(Dataset& dataset, const WeightsInfo& info);

/// The graph that labels are propagated on. Throws Error without classes of training nodes.
Adjacency label_graph(const Dataset& dataset, const Dataset& known, bool undirected,
                      const PredictOptions& options);

}  // namespace rodeo
