/// Precision, recall and F1 of each class, as scikit-learn's classification_report has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "train/task/node_run.h"

namespace rodeo {

/// A share of nothing is NaN.
struct ClassScore {
  std::int64_t nodes = 0;
  double precision = 0;  // of the nodes predicted as this class, the share that is of it
  double recall = 0;     // of the nodes of this class, the share predicted as it
  double f1 = 0;         // 2 hits / (predicted + nodes)
};

struct ClassReport {
  std::vector<std::string> names;   // Dataset::class_names, or empty
  std::vector<ClassScore> classes;  // ClassScore::nodes is the support
  bool multi_label = false;
  ClassScore micro;  // of all labels together; with one label a node, each of its shares is the accuracy
  /// Means over the classes, and weighted by their nodes. A share of nothing counts as 0. A class that no
  /// node has and none was predicted as is left out.
  ClassScore macro, weighted;
};

/// Scores of each class at `nodes`, for logits [nodes, classes] of any floating dtype and labels i64 [nodes],
/// negative where a node has none, or u8 [nodes, classes], Dataset::kMissingLabel where one is not known:
/// there a class is predicted above a probability of a half. On any device. names: one for each class, or
/// none.
ClassReport report_classes(const Tensor& logits, const Tensor& label, const std::vector<std::int64_t>& nodes,
                           std::vector<std::string> names);

/// What a model says of all nodes, in the order of the file, on the host.
struct NodeOutputs {
  Tensor logits;                   // [nodes, classes]
  Tensor label;                    // Dataset::y
  std::vector<std::int64_t> test;  // nodes of the test set
};
/// Runs the model once in evaluation mode with its current parameters. Over ranks, a collective call.
NodeOutputs outputs_of(const NodeRun& run);

/// The table of classification_report: a line for each class, then accuracy (micro avg with several labels a
/// node), macro avg and weighted avg. A share of nothing is "-".
std::string format_classes(const ClassReport& report);
/// {"classes": [{"class": 0, "name", "precision", "recall", "f1", "support"}, ...], "accuracy" or
/// "micro_avg", "macro_avg", "weighted_avg"}. A share of nothing is null; "name" is there with report.names.
std::string classes_json(const ClassReport& report);

}  // namespace rodeo
