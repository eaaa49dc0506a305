/// The command line of the training commands.
#pragma once

#include <cstdint>
#include <string>

#include "ops/spmm.h"

namespace rodeo {

struct TrainOptions {
  std::string dataset;
  std::string split;  // "60/20/20": random, in percent of the nodes; empty: the file's masks
  bool undirected = false;
  bool normalize_features = true;  // rows sum to one

  std::int64_t hidden = 16;
  int layers = 2;
  double dropout = 0.5;

  int epochs = 200;
  double lr = 0.01;
  double weight_decay = 5e-4;
  std::uint64_t seed = 0;
  int eval_every = 1;
  int patience = 0;

  std::string device = "auto";
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;
  bool tf32 = false;
  bool explain = false;
  bool quiet = false;

  std::string notice;  // not empty after --help and --version: print this, and do nothing else
};

/// Reads the command line on top of a command's defaults.
/// Throws Error in one line for an unknown option, a missing or bad value, an argument that is no option's,
/// and a missing --dataset. What --dataset, --split and --device name is looked at by those who use it.
TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults = {});

}  // namespace rodeo
