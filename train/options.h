/// The command line of the training commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/attention.h"
#include "ops/spmm.h"

namespace rodeo {

enum class ModelKind { kGcn, kGat };
std::string_view name(ModelKind kind);  // "gcn"

struct TrainOptions {
  ModelKind model = ModelKind::kGcn;  // not an option: what the command trains

  std::string dataset;
  std::string split;  // "60/20/20": random, in percent of the nodes; empty: the file's masks
  bool undirected = false;
  bool normalize_features = true;  // rows sum to one

  std::int64_t hidden = 16;
  int layers = 2;
  double dropout = 0.5;

  // Of a GAT alone; `hidden` is the width of one head then.
  std::int64_t heads = 8;
  std::int64_t out_heads = 1;
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  AttentionForm attention = AttentionForm::kAuto;

  int epochs = 200;
  double lr = 0.01;
  double weight_decay = 5e-4;
  std::uint64_t seed = 0;
  int eval_every = 1;
  int patience = 0;

  std::string device = "auto";
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;  // of a GCN alone, as is explain
  bool tf32 = false;
  bool graph = true;  // --no-graph: on CUDA, no captured graphs
  bool explain = false;
  bool quiet = false;

  std::string notice;  // not empty after --help and --version: print this, and do nothing else
};

/// What the model's paper trains with: Kipf & Welling (ICLR 2017), Velickovic et al. (ICLR 2018; Cora and
/// CiteSeer).
TrainOptions published_options(ModelKind kind);

/// Reads the command line on top of a command's defaults.
/// An option that belongs to another model than defaults.model is unknown.
/// Throws Error in one line for an unknown option, a missing or bad value, an argument that is no option's,
/// and a missing --dataset. What --dataset, --split and --device name is looked at by those who use it.
TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults = {});

}  // namespace rodeo
