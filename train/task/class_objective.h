/// Other losses and metrics for the classification of nodes than cross entropy and accuracy.
#pragma once

#include <string_view>
#include <vector>

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// Sets run.model.objective and run.task.metric where --metric, --class-weights or --label-smoothing ask for
/// them; else leaves the run as it is. ROC-AUC and average precision are of the second class against the
/// first; with more classes, or several labels per node, the mean over the classes that a set has, each
/// against the rest. The loss of evaluations is plain cross entropy. Throws Error where a metric is not
/// defined for the data. Labels that are numbers: add_regression_objective().
void add_class_objective(NodeRun& run, const TrainOptions& options);

/// "balanced" or a weight for each class, "1,2.5". Throws Error naming --class-weights for anything else.
void check_class_weights(std::string_view text);

}  // namespace rodeo
