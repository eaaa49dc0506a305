/// What the commands train: a task and the model for it.
#pragma once

#include <functional>
#include <memory>
#include <string>
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
  /// Predictions of a step: of its batch or graphs, else of all nodes or graphs. Those of links are
  /// embeddings or, where the step has pairs, the logits [k, 1] of these.
  std::function<Variable(const StepInput&)> predict;
  /// What the last layer or the classifier reads, in evaluation mode, [nodes, columns]; null: no hidden
  /// layer.
  std::function<Variable()> embed = {};
  std::shared_ptr<const MiniBatchTraining> mini_batches = {};  // with --batch
  std::vector<ParameterGroup> groups;                          // for the optimizer
  Adjacency adj;                                               // the graph of its SpMM and attention
  std::string text;                                            // "GCN, 2 layers, 16 hidden, dropout 0.5"
  std::string algorithms;                                      // "spmm auto, precision fp32"
  /// The criteria; also source and forward where they are not those of `mini_batches` and `predict`.
  TrainerParts parts;

  Variable forward() const { return predict({}); }
};

struct NodeRun {
  NodeTask task;
  NodeModel model;
};

}  // namespace rodeo
