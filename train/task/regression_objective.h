/// Losses and metrics for the regression of nodes.
#pragma once

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// Sets run.model.objective, details and run.task.metric for a task with targets, f32 [nodes, targets].
///
/// The loss is the mean squared or absolute error (--loss) over the targets of the training nodes that are
/// not NaN. The metric of a set is R^2 = 1 - sum d^2 / sum (y - mean y)^2, summed over all targets, with the
/// mean of each target over the set; 0 where the targets do not vary. With --metric mse or mae it is the
/// error with a minus sign, so that more is better. Throws Error for a metric of classes, options that are
/// for classes, and a set without a target.
void add_regression_objective(NodeRun& run, const TrainOptions& options);

}  // namespace rodeo
