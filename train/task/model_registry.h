/// The models that the training commands know. Each is one row of train/task/models.cpp: a name, its
/// convolution and preset, and its published defaults. The traits of the convolution say which options it
/// has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/trunk.h"
#include "train/task/options.h"

namespace rodeo {

struct ModelEntry {
  std::string_view name;             // "gcn", as in --model gcn
  std::string_view title;            // "GCN"
  std::string_view edge_title = {};  // with edge features; empty: the same
  const ConvKind* conv = nullptr;
  const TrunkPreset* preset = nullptr;  // the published model; null: there is none but the trunk
  bool graphs = false;                  // has --task graph
  bool relations = false;               // of graphs of several node types: the model is a HeteroModel
  bool decays_first_layer = false;      // weight decay, as published: of the first layer alone
  double linear_decay = 1;  // that of linear layers around convolutions, as a share of --weight-decay
  /// Sets the published hyperparameters. Null: they are the defaults of TrainOptions.
  void (*set_published)(TrainOptions& options) = nullptr;
};

/// All rows of graphs of one node type, in the order of --help.
std::span<const ModelEntry> model_registry();
/// All rows of graphs of several node types and relations (ModelEntry::relations).
std::span<const ModelEntry> hetero_model_registry();

/// Throws Error listing the choices for an unknown name.
const ModelEntry& find_model(std::string_view name);
const ConvTraits& traits_of(const TrainOptions& options);
/// Whether options.model is for graphs of several node types.
bool has_relations(const TrainOptions& options);
/// Whether attention runs as one operator after the other, with SDDMM in the gradient of its weights.
bool composes_attention(const TrainOptions& options);
/// What --spmm runs in the sums of a step. auto is a choice for graphs that are used many times: csr on the
/// blocks of mini-batches, rode on batches of graphs.
SpmmAlgorithm spmm_of_steps(const TrainOptions& options);
/// "spmm tca (tf32 in the products)", "attention fused: scores and sums in one kernel, on RoDe's plan"
std::string describe_aggregation(const TrainOptions& options, Device device);
/// "gcn, gat, ..."
std::string model_names(std::string_view separator = ", ");
/// Those that have --task graph.
std::string graph_model_names();

/// The hyperparameters that the model's paper trains with. Throws Error for an unknown model.
TrainOptions published_options(std::string_view model);
/// Published hyperparameters for a task. Link prediction: the widths and the learning rate of PyTorch
/// Geometric's example (128 hidden columns, lr 0.01), with dropout 0.5 for 300 epochs, and no weight decay.
/// Classification of graphs: those of PyTorch Geometric's GIN example (5 layers, 32 hidden columns, dropout
/// 0.5, lr 0.01, batches of 128 graphs, 100 epochs); throws Error for a model without
/// ModelEntry::graphs.
TrainOptions published_options(std::string_view model, TaskKind task);

/// Whether parameters have the names of a trunk (convs.0.*, ...): options.model has no preset, or `options`
/// ask for parts that the published model does not have.
bool uses_trunk(const TrainOptions& options);

/// Why the model that `options` describe needs dense features; empty if it also reads sparse ones.
std::string dense_features_reason(const TrainOptions& options);

}  // namespace rodeo
