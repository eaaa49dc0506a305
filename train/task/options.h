/// TrainOptions: all that the options of a training command set.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "datasets/reorder.h"
#include "layers/graph_pool.h"
#include "layers/link_decoder.h"
#include "models/trunk.h"
#include "ops/aggregation_types.h"
#include "ops/attention.h"
#include "ops/ranking.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"
#include "train/metric.h"
#include "train/precision.h"
#include "train/trainer.h"

namespace rodeo {

/// Where the features of mini-batches are. Rows that are read most are on the device too.
enum class FeaturesOn {
  kAuto,  // the first of the others that has room (train/task/run_plan.h)
  kDevice,
  kHost,   // in page-locked memory
  kDisk,   // in the file
  kPeers,  // each rank has a part on its device, and the ranks send each other rows
};
template <>
inline constexpr auto kEnumNames<FeaturesOn> = enum_names<FeaturesOn>({{FeaturesOn::kAuto, "auto"},
                                                                       {FeaturesOn::kDevice, "device"},
                                                                       {FeaturesOn::kHost, "host"},
                                                                       {FeaturesOn::kDisk, "disk"},
                                                                       {FeaturesOn::kPeers, "peers"}});

/// Where the graph is that mini-batches are sampled from.
enum class GraphOn {
  kAuto,  // on the device, if it has room (train/task/run_plan.h)
  kDevice,
  kHost,   // in page-locked memory
  kPeers,  // each rank has the edges into a part of the nodes, and the ranks send each other sources; not for
           // kAuto
};
template <>
inline constexpr auto kEnumNames<GraphOn> = enum_names<GraphOn>({{GraphOn::kAuto, "auto"},
                                                                 {GraphOn::kDevice, "device"},
                                                                 {GraphOn::kHost, "host"},
                                                                 {GraphOn::kPeers, "peers"}});

/// Storage format of the input features.
enum class FeatureForm { kAuto, kDense, kSparse };
template <>
inline constexpr auto kEnumNames<FeatureForm> = enum_names<FeatureForm>({{FeatureForm::kAuto, "auto"},
                                                                         {FeatureForm::kDense, "dense"},
                                                                         {FeatureForm::kSparse, "sparse"}});

/// What the features are.
enum class InputFeatures { kFile, kDegree, kOnehot, kRandom, kOnes };  // of the dataset, or make_features()
template <>
inline constexpr auto kEnumNames<InputFeatures> =
    enum_names<InputFeatures>({{InputFeatures::kFile, "file"},
                               {InputFeatures::kDegree, "degree"},
                               {InputFeatures::kOnehot, "onehot"},
                               {InputFeatures::kRandom, "random"},
                               {InputFeatures::kOnes, "ones"}});

/// How features become the input (train/task/feature_scale.h).
enum class FeatureScaling {
  kAuto,         // kNone, kRow, kUnit or kStandard, by what the features are
  kNone,         // as they are
  kUnit,         // each row is divided by its Euclidean norm
  kRow,          // each row is divided by the sum of its absolute values
  kStandard,     // each column has mean 0 and variance 1 over the training nodes; of links over all nodes
  kStandardAll,  // over all nodes
};
template <>
inline constexpr auto kEnumNames<FeatureScaling> =
    enum_names<FeatureScaling>({{FeatureScaling::kAuto, "auto"},
                                {FeatureScaling::kNone, "none"},
                                {FeatureScaling::kUnit, "unit"},
                                {FeatureScaling::kRow, "row"},
                                {FeatureScaling::kStandard, "standard"},
                                {FeatureScaling::kStandardAll, "standard-all"}});

inline bool is_standard(FeatureScaling scaling) {
  return scaling == FeatureScaling::kStandard || scaling == FeatureScaling::kStandardAll;
}

/// What is predicted.
enum class TaskKind { kNode, kLink, kGraph };
template <>
inline constexpr auto kEnumNames<TaskKind> =
    enum_names<TaskKind>({{TaskKind::kNode, "node"}, {TaskKind::kLink, "link"}, {TaskKind::kGraph, "graph"}});

/// TrainOptions::fold where the split is that of the file.
inline constexpr int kFoldOfFile = std::numeric_limits<int>::max();

/// Options of the trainer, whose functions and observers are the caller's, and all others. The parts are
/// those of train/task/option_parts.h, whose files have the name, range and help text of each option.
struct TrainOptions : TrainerOptions {
  // Data
  std::string dataset;
  TaskKind task = TaskKind::kNode;
  std::string split;       // "60/20/20" or "0.6/0.2/0.2": random; "2": the file's third; empty: its masks
  std::string edge_split;  // kLink: "85/5/10": random; empty: of the file, else 85/5/10
  std::string relation;    // kLink, of several node types: whose edges are predicted; empty: all
  bool undirected = false;
  InputFeatures input_features = InputFeatures::kFile;
  FeatureScaling normalize_features = FeatureScaling::kAuto;

  // Model. ConvTraits tells which models have an option
  std::string model = "gcn";  // a name in the model registry (train/task/model_registry.h)
  bool choose_model = false;  // true: --model is a required option; false: the command trains `model` only
  std::int64_t hidden = 16;   // width of a hidden layer; for GAT and GATv2, of one head
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of the features; absent: dropout
  PoolKind pool = PoolKind::kSum;            // kGraph
  bool edge_features = false;                // the model reads edge_attr
  std::int64_t embedding = 64;               // kLink: columns of the model's output, which the decoder reads
  DecoderKind decoder = DecoderKind::kDot;   // kLink
  std::int64_t heads = 8;
  std::int64_t out_heads = 1;
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  bool self_loops = true;     // attention: add a self loop to each node
  bool use_trunk = false;     // a trunk without such parts; mini-batches have one anyway (uses_trunk())
  TrunkParts trunk;           // parts that published models do not have
  std::string layer_dropout;  // "0.5,0.2": of each hidden layer; empty: dropout
  Reduce aggr = Reduce::kMean;
  bool sage_loops = false;  // --aggr models: add a self loop to each node
  bool train_eps = false;
  int hops = 2;
  double alpha = 0.1;
  double edge_dropout = 0;
  double lambda = 0.5;                 // of GCNII
  std::int64_t bases = 0, blocks = 0;  // of R-GCN's weights; 0: a full matrix for each relation
  double drop_edge = 0;                // probability of each edge, drawn again in each step

  // Optimizer; TrainerOptions has the rest
  double lr = 0.01;
  double weight_decay = 5e-4;

  // Runs
  std::uint64_t seed = 0;
  int seeds = 1;            // runs with seed, seed + 1, ...
  int parallel = 1;         // of these runs at a time
  bool all_splits = false;  // a run for each split of the masks

  // Source of the steps
  std::int64_t batch = 0;       // training nodes of a mini-batch; 0: the whole graph is one step
  std::string fanout;           // sampled edges of a node, hop by hop, "15,10,5"; empty: 10 each
  bool replace = false;         // draw them with replacement
  bool batch_by_parts = false;  // batches are random parts of all nodes, with the edges inside
  FeaturesOn features_on = FeaturesOn::kAuto;
  GraphOn graph_on = GraphOn::kAuto;
  std::int64_t feature_cache_mib =
      -1;                           // of the device, for rows of features elsewhere; -1: half of what is free
  bool eval_sampled = false;        // evaluations read samples too; false: all edges, layer by layer
  std::int64_t batch_graphs = 128;  // kGraph: in a mini-batch
  int folds = 10;                   // kGraph
  int fold = -1;                    // kGraph: tested on; -1: one after the other; kFoldOfFile: its masks

  // Criterion
  NodeMetric metric = NodeMetric::kAccuracy;
  RegressionLoss loss = RegressionLoss::kMse;
  std::string class_weights;  // "balanced", or one for each class: "1,2.5"; empty: ones
  double label_smoothing = 0;
  RankingMetric link_metric = kRankingAuc;  // kLink
  std::int64_t hits = 50;                   // kLink: K of Hits@K

  // Execution
  std::string device = "auto";
  int gpus = 0;   // ranks to start, each with a GPU; 0: those of the launcher, or one
  int ranks = 0;  // the same, with `device`
  Aggregation aggregation = Aggregation::kAuto;  // over several ranks
  int threads = 0;                               // on the CPU; 0: num_threads() is left as it is
  AttentionForm attention = AttentionForm::kAuto;
  SddmmAlgorithm sddmm = SddmmAlgorithm::kAuto;
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;
  Accumulate spmm_accumulate = Accumulate::kOrdered;
  FeatureForm features = FeatureForm::kAuto;
  NodeOrder reorder = NodeOrder::kNone;  // node order used during training
  bool prune_rows = false;               // in training steps the last layer computes the training nodes only
  Precision precision = Precision::kFp32;

  // Output files and folders; empty: none. docs/daily_use.md describes them
  std::string checkpoint;  // folder
  int checkpoint_every = 10;
  int checkpoint_every_batches = 0;  // of an epoch of mini-batches; 0: at the ends of epochs only
  bool resume = false;               // from the checkpoint, if there is one
  std::string export_file;           // weights of the best epoch
  std::string log, csv, report, trace;
  std::string tensorboard;  // folder

  // Text on the console
  bool per_class = false;  // print precision, recall and F1 of each class
  bool explain = false;    // print the SpMM algorithms that were chosen, and why
  bool profile = false;    // print a table of kernel times at the end
  bool debug = false;      // check the result of every kernel for NaN and infinity
  bool quiet = false;

  // Command line only
  bool dry_run = false;
  // Set by --help, --version, --print-config, --list-devices and --completion: the command prints this text
  // and exits.
  std::string notice;
  std::vector<std::string> warnings;  // one line each, for stderr
};

}  // namespace rodeo
