/// What the commands train: a task and the model for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layers/module.h"
#include "ops/gcn_norm.h"
#include "train/mini_batches.h"
#include "train/task/node_task.h"
#include "train/trainer.h"

namespace rodeo {

/// The dataset's graph in the form that a model reads (GraphInput).
struct ModelGraph {
  Adjacency adj;
  GcnGraph normalized;    // GraphInput::kGcnNorm: adj with its scales; else undefined
  bool weighted = false;  // the dataset has edge weights
  Tensor edge_attr;       // [edges, edge features] in the edge order of adj, with --edge-features
};

/// An untrained model and what the trainer needs of it.
struct NodeModel {
  std::unique_ptr<Module> module;
  std::function<Variable()> forward;                           // logits [nodes, classes]
  std::shared_ptr<const MiniBatchTraining> mini_batches = {};  // with --batch
  std::vector<ParameterGroup> groups;                          // for the optimizer
  Adjacency adj;                                               // the graph of its SpMM and attention
  bool training_rows = false;  // in training mode `forward` predicts the training nodes alone, in their order
  std::string text;            // "GCN, 2 layers, 16 hidden, dropout 0.5"
  std::string algorithms;      // "spmm auto, precision fp32"
  std::shared_ptr<const Criterion> criterion;      // TrainerParts
  std::shared_ptr<const Criterion> metrics = {};   // TrainerParts
  std::shared_ptr<StepSource> source = {};         // null: mini_batches, else the whole graph
  std::function<Variable(const StepInput&)> step;  // TrainerParts::forward; null: mini_batches or forward
  /// TaskKind::kLink: logits [k, 1] of the pairs (src, dst), i64 [k] in the task's node order.
  std::function<Variable(const Tensor& src, const Tensor& dst)> score;
  /// All test metrics of the last evaluation by name; null where it is the headline alone.
  std::function<std::vector<std::pair<std::string, double>>()> details;
};

struct NodeRun {
  NodeTask task;
  NodeModel model;
};

}  // namespace rodeo
