/// Remarks on data and results that look right and are not. One line each, for terminal, log and report.
#pragma once

#include <string>
#include <vector>

#include "train/task/node_task.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// Edges whose reverse is missing, and features that row normalisation makes small.
std::vector<std::string> data_warnings(const NodeTask& task, const TrainOptions& options);

/// "2", and where the dataset has names of classes "2 (dog)", printable.
std::string class_text(const std::vector<std::string>& class_names, std::int64_t c);

/// "0.8000 of the test nodes are of the largest class, 0". task.majority_class must be at least 0.
std::string describe_majority(const NodeTask& task);

/// Says that the best epoch is the last one that was allowed, so that training has not converged; else empty.
std::string convergence_note(const TrainSummary& summary, const TrainOptions& options);

/// The NodeTask::feature_norm below which data_warnings() names the features: rows of 100 equal values.
constexpr double kSmallFeatureNorm = 0.1;

}  // namespace rodeo
