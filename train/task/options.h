/// The command line of the training commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "datasets/reorder.h"
#include "ops/attention.h"
#include "ops/spmm.h"
#include "train/precision.h"
#include "train/schedule.h"

namespace rodeo {

enum class ModelKind { kGcn, kGat, kGatv2, kSage, kGin, kSgc, kAppnp };
std::string_view name(ModelKind kind);  // "gcn"
/// "gcn", "gat", "gatv2", "sage", "gin", "sgc" or "appnp"; throws Error for anything else, naming the
/// choices.
ModelKind parse_model(std::string_view text);

enum class FeatureForm { kAuto, kDense, kSparse };
std::string_view name(FeatureForm form);  // "auto"
/// "auto", "dense" or "sparse"; throws Error for anything else, naming the choices.
FeatureForm parse_feature_form(std::string_view text);

struct TrainOptions {
  ModelKind model = ModelKind::kGcn;
  bool choose_model = false;  // --model is an option, and required; else `model` is what the command trains

  std::string dataset;
  std::string split;  // "60/20/20": random, in percent of the nodes; "2": the file's third; empty: its masks
  bool undirected = false;
  bool normalize_features = true;  // rows sum to one

  std::int64_t hidden = 16;
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of the features; not given: dropout

  // What a model has of these is in train/task/model_options.cpp; no other knows them as options.
  Reduce aggr = Reduce::kMean;  // SAGE
  bool train_eps = false;       // GIN
  int hops = 2;                 // SGC, APPNP
  double alpha = 0.1;           // APPNP
  double edge_dropout = 0;      // APPNP

  // Of GAT and GATv2; `hidden` is the width of one head then.
  std::int64_t heads = 8;
  std::int64_t out_heads = 1;
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  AttentionForm attention = AttentionForm::kAuto;  // not of GATv2

  int epochs = 200;
  double lr = 0.01;
  double weight_decay = 5e-4;
  std::uint64_t seed = 0;
  int eval_every = 1;
  int patience = 0;
  LrScheduleOptions schedule;
  double clip_norm = 0;     // 0: gradients as they are
  bool stop_at_nan = true;  // --on-nan stop

  std::string device = "auto";
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;  // not of GAT and GATv2, as is explain
  FeatureForm features = FeatureForm::kAuto;  // what the first layer reads
  NodeOrder reorder = NodeOrder::kNone;       // of the nodes, while training
  bool prune_rows = false;  // GCN: the last layer of a training step computes training nodes alone
  Precision precision = Precision::kFp32;
  bool graph = true;  // --no-graph: on CUDA, no captured graphs
  bool explain = false;
  bool quiet = false;
  bool dry_run = false;
  bool debug = false;    // look at every kernel's result
  bool profile = false;  // a table of kernels at the end

  // Files and folders that are written; empty: none. docs/daily_use.md describes them.
  std::string checkpoint;  // folder
  int checkpoint_every = 10;
  bool resume = false;      // from the checkpoint, if there is one
  std::string export_file;  // --export: weights of the best epoch
  std::string log, csv, report, trace;
  std::string tensorboard;  // folder

  // Not empty after --help, --version, --print-config, --list-devices and --completion: print this, and do
  // nothing else.
  std::string notice;
};

/// What the model's paper trains with: Kipf & Welling (ICLR 2017), Velickovic et al. (ICLR 2018; Cora and
/// CiteSeer), and the same for GATv2 (Brody et al., ICLR 2022); Wu et al. (SGC, ICML 2019); Klicpera et al.
/// (APPNP, ICLR 2019). The papers of SAGE and GIN have other tasks: they train as a GCN does, GIN with 64
/// hidden units.
TrainOptions published_options(ModelKind kind);

/// Reads the command line on top of a command's defaults.
/// An option that belongs to another model than the one trained is unknown.
/// With defaults.choose_model, --model NAME comes first of all: its published_options are the defaults.
/// --config FILE stands for the options in that file, before all others: the command line wins.
/// Throws Error in one line for an unknown option, a missing or bad value, an argument that is no option's,
/// and a missing --dataset. What --dataset, --split and --device name is looked at by those who use it.
TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults = {});

}  // namespace rodeo
