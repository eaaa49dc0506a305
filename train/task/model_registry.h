/// The models that the training commands know. Each is one row of train/task/models.cpp: a name, the options
/// it has, its published defaults and a function that builds it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "train/task/options.h"

namespace rodeo {

struct ModelGraph;
struct NodeModel;
struct NodeTask;

/// The graph that a model's layers read.
enum class GraphInput {
  kPlain,      // as in the dataset, without edge weights
  kSelfLoops,  // with a self loop for each node, without edge weights
  kGcnNorm,    // with self loops, edge weights and the scales D^-1/2 (ops/gcn_norm.h)
};

/// Which command-line options a model has, and what the commands must know of it.
struct ModelTraits {
  GraphInput graph = GraphInput::kPlain;
  bool hidden_layers = false;   // --hidden, --layers, --dropout, --input-dropout
  bool heads = false;           // --heads, --out-heads, --attn-dropout, --negative-slope, --sddmm, --explain
  bool attention_form = false;  // --attention
  bool spmm = false;            // --spmm, --explain
  bool aggr = false;            // --aggr
  bool train_eps = false;       // --train-eps
  bool hops = false;            // --hops
  bool teleport = false;        // --alpha, --edge-dropout
  bool prune_rows = false;      // --prune-rows
  bool blocks = false;          // --batch, --fanout, --replace
  bool trunk = false;           // --norm, --residual, --jk and the other parts of models/trunk.h
  bool propagates_inputs = false;  // without input dropout, A X of dense features is computed once per run
  bool decay_all = false;          // weight decay applies to all parameters; false: to the first layer
  bool edge_features = false;      // --edge-features
  bool keeps_propagated = false;   // computes S^K X of dense features once per run
};

struct ModelEntry {
  std::string_view name;  // "gcn", as in --model gcn
  ModelTraits traits;
  void (*set_published)(TrainOptions& options);  // null: the defaults of TrainOptions are the published ones
  NodeModel (*make)(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph);
};

/// All rows, in the order of --help.
std::span<const ModelEntry> model_registry();

/// Throws Error listing the choices for an unknown name.
const ModelEntry& find_model(std::string_view name);
const ModelTraits& traits_of(const TrainOptions& options);
/// Whether attention runs as one operator after the other, with SDDMM in the gradient of its weights.
bool composes_attention(const TrainOptions& options);
/// "attention composed, sddmm edges"
std::string describe_attention(const TrainOptions& options);
/// "gcn, gat, ..."
std::string model_names(std::string_view separator = ", ");

/// The hyperparameters that the model's paper trains with. Throws Error for an unknown model.
TrainOptions published_options(std::string_view model);
/// The same for a task. Link prediction: the widths and the learning rate of PyTorch Geometric's example (128
/// hidden columns, lr 0.01), with dropout 0.5 for 300 epochs, and no weight decay. Classification of graphs:
/// those of PyTorch Geometric's GIN example (5 layers, 32 hidden columns, dropout 0.5, lr 0.01, batches of
/// 128 graphs, 100 epochs); throws Error for a model other than gin and gcn.
TrainOptions published_options(std::string_view model, TaskKind task);

/// Why the model that `options` describe needs dense features; empty if it also reads sparse ones.
std::string dense_features_reason(const TrainOptions& options);

}  // namespace rodeo
