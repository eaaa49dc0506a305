/// The command line of epoch_bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "datasets/reorder.h"
#include "train/task/node_model.h"

namespace rodeo::bench {

struct EpochOptions {
  std::vector<std::string> models;
  std::vector<std::string> graphs, files;   // names of synthetic sizes; HDF5 files
  std::vector<std::int64_t> hidden, heads;  // hidden is empty: the default of each model
  std::vector<FeatureForm> features;
  std::vector<Precision> precisions;
  std::vector<NodeOrder> reorder;
  std::vector<std::optional<bool>> shuffle;  // node orders of synthetic graphs; unset: that of the preset
  std::optional<double> input_dropout;
  std::string split;
  AttentionForm attention = AttentionForm::kAuto;
  std::vector<SpmmAlgorithm> spmm;
  SddmmAlgorithm sddmm = SddmmAlgorithm::kAuto;
  int epochs = 0, warmup = 0;
  int layers = 0;  // 0: the default of each model
  Device device;
  std::vector<int> ranks;                // numbers of ranks, one after the other; empty: this process alone
  bool on_gpus = false;                  // each rank has a GPU
  std::vector<Aggregation> aggregation;  // forms of exchange over several ranks, one after the other
  bool cuda_graph = true, roofline = false, prune_rows = false, edge_weights = false;
  std::string csv, json;  // files to write, or empty
  std::string help;       // not empty after --help: print this and do nothing else
};

/// Throws Error in one line for an unknown option, a missing or bad value, and a file that does not exist.
EpochOptions parse_epoch_options(int argc, const char* const* argv);

}  // namespace rodeo::bench
