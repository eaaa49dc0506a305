/// The criteria of tasks on nodes and graphs: --metric, --loss, --class-weights, --label-smoothing.
#pragma once

#include <string>

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// Sets the criteria of a run on nodes or graphs, and its target_scale: classification or, where labels are
/// numbers, regression. Throws Error where options are not defined for the labels, and where a set has
/// examples but no known label. Over ranks a collective call.
void set_criterion(NodeRun& run, const TrainOptions& options);

/// "balanced" or a weight for each class, "1,2.5". Throws Error naming --class-weights for anything else.
void check_class_weights(const std::string& text);

}  // namespace rodeo
