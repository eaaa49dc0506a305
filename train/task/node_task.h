/// A dataset on the device, ready for node classification.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/node_partition.h"
#include "datasets/dataset.h"
#include "ops/features.h"
#include "train/task/feature_scale.h"
#include "train/task/options.h"
#include "train/timing.h"

namespace rodeo {

class DiskFeatures;

/// The training data of a run, and how long its preparation took.
struct NodeTask {
  std::string name;
  std::int64_t num_nodes = 0, num_edges = 0, num_features = 0, num_classes = 0;
  std::int64_t num_edge_features = 0;  // that the model reads
  std::int64_t one_way_edges = 0;      // edges whose reverse is missing (count_one_way_edges)
  /// The share of the most frequent class among the test nodes: the accuracy of always predicting it.
  /// Statistics::kNone without test nodes or with several labels per node.
  double majority = Statistics::kNone;
  std::int64_t majority_class = -1;
  FeatureScale feature_scale;         // made x of the dataset's features
  TrainedTypes types;                 // of a model of several node types; feature_scale is not set then
  ColumnScale target_scale;           // regression: the model predicts targets that it was applied to
  std::vector<std::string> warnings;  // of data that are not what they seem, a sentence each
  Features x;                         // f32 or bf16 [nodes, features], on the device
  bool features_on_host = false;      // x is page-locked host memory (core/page_locked.h)
  /// Features that stay in the file; x has no rows then.
  std::shared_ptr<DiskFeatures> disk_features;
  /// How features are cut among ranks: x has this rank's rows. Null: x has all rows.
  std::shared_ptr<const NodePartition> feature_rows;
  std::string places;                    // of mini-batches: where graph and features are; else empty
  std::string features;                  // describes x: "dense, 2708 x 1433"
  Tensor label;                          // Dataset::y, on the device
  std::vector<std::string> class_names;  // Dataset::class_names
  std::string metric = "accuracy";       // what Evaluation holds, Criterion::metric_name(): "AUC"
  std::string parts_of;                  // what `split` counts: "edges"; empty: nodes
  Split split;                           // on the device
  bool regression() const { return label.defined() && label.dtype() == DType::kF32; }
  /// Over several ranks: x, label and split are those of the rank's nodes. Null on one rank.
  std::shared_ptr<const NodePartition> partition;
  /// The ranks of mini-batches, which every rank samples from the whole graph (MiniBatchTraining::ranks).
  Communicator ranks;
  std::array<std::int64_t, 3> split_sizes{};  // train, val and test nodes of all ranks
  Tensor order;           // i64 [nodes], on the host: node i is node order[i] of the file; undefined: node i
  std::string reorder;    // describes the order: "rabbit, edges within 1,024 places 1.2 % -> 61.0 %"
  double reorder_ms = 0;  // on the host, between load and convert
  double load_ms = 0;     // file to host memory
  double convert_ms = 0;  // host memory to the tensors that the model reads
  std::int64_t convert_peak_bytes = 0;  // peak device memory during the conversion
};

/// Sets the majority of the test examples. Does nothing where labels are several or numbers.   label: on the
/// host
void find_majority(const Tensor& label, const Tensor& test, NodeTask& task);

/// Reorders rows from the task's node order to the file's.   rows [nodes] or [nodes, n], any dtype -> same
/// shape, on the host.
Tensor in_file_order(const NodeTask& task, const Tensor& rows);

}  // namespace rodeo
