/// A model of the registry, bound to the dataset it is trained on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layers/module.h"
#include "ops/gcn_norm.h"
#include "train/adam.h"
#include "train/mini_batches.h"
#include "train/task/node_task.h"

namespace rodeo {

/// The dataset's graph in the form that a model reads (GraphInput).
struct ModelGraph {
  Adjacency adj;
  GcnGraph normalized;    // GraphInput::kGcnNorm: adj with its scales; else undefined
  bool weighted = false;  // the dataset has edge weights
};

/// An untrained model and what the trainer needs of it.
struct NodeModel {
  std::unique_ptr<Module> module;
  std::function<Variable()> forward;                           // logits [nodes, classes]
  std::shared_ptr<const MiniBatchTraining> mini_batches = {};  // TrainerOptions::mini_batches
  std::vector<ParameterGroup> groups;                          // for Adam
  Adjacency adj;                                               // the graph of its SpMM and attention
  bool training_rows = false;                                  // TrainerOptions::training_rows
  std::string text;                                            // "GCN, 2 layers, 16 hidden, dropout 0.5"
  std::string algorithms;                                      // "spmm auto, precision fp32"
};

struct NodeRun {
  NodeTask task;
  NodeModel model;
};

/// Loads options.dataset and builds options.model for it. Throws Error as load_task does.
NodeRun load_run(const TrainOptions& options, Device device);
/// The same for a dataset in memory.
NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device);

}  // namespace rodeo
