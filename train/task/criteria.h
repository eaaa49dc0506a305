/// The criteria of tasks on nodes and graphs: --metric, --loss, --class-weights, --label-smoothing.
#pragma once

#include <memory>
#include <string_view>

#include "train/criterion.h"
#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// What a criterion is of, and how errors call it.
struct LabelledSets {
  Tensor label;  // i64 [n], u8 [n, classes] or f32 [n, targets], on the device of the predictions
  Split sets;    // there too
  std::int64_t classes = 0;
  std::string_view examples = "nodes", array = "/y";
  ColumnScale scale = {};  // of labels that are numbers: target_scale()
};

/// Classification or, where labels are numbers, regression. Throws Error where options are not defined for
/// the labels, and where a set has examples but no known label.
std::shared_ptr<const Criterion> make_criterion(const LabelledSets& data, const TrainOptions& options);

/// That of the targets of the training set, on their device; undefined for classes.
ColumnScale target_scale(const LabelledSets& data);

/// Sets the criteria of a run on nodes, and its target_scale. Over ranks a collective call.
void set_criterion(NodeRun& run, const TrainOptions& options);

/// "balanced" or a weight for each class, "1,2.5". Throws Error naming --class-weights for anything else.
void check_class_weights(const std::string& text);

}  // namespace rodeo
