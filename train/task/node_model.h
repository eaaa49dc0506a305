/// Models bound to their tasks: all that the training commands and benchmarks differ in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "layers/module.h"
#include "train/adam.h"
#include "train/task/run.h"

namespace rodeo {

/// A model, the graph it reads and the way it is trained.
struct NodeModel {
  std::unique_ptr<Module> module;
  std::function<Variable()> forward;   // logits [nodes, classes]
  std::vector<ParameterGroup> groups;  // of Adam
  Adjacency adj;                       // what its sparse products run on
  bool training_rows = false;          // in training mode logits are those of the training nodes alone
  std::string text;                    // "GCN, 2 layers, 16 hidden, dropout 0.5"
  std::string algorithms;              // "spmm auto, precision fp32"
};

struct NodeRun {
  NodeTask task;
  NodeModel model;
};

/// The model that options.model names, untrained, and its task: options.dataset, or a dataset in memory.
/// Throws Error as load_task does.
NodeRun load_run(const TrainOptions& options, Device device);
NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device);

}  // namespace rodeo
