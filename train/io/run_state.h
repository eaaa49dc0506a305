/// A run as tensors and texts: what checkpoints and exported weights hold.
#pragma once

#include <string>
#include <vector>

#include "layers/module.h"
#include "train/checkpoint.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// What a file of weights says of itself, in its metadata under "rodeo".
struct WeightsInfo {
  TrainOptions options;  // model and input (Setting::Role::kModel); the others are the model's defaults
  std::string dataset;   // its name
  std::int64_t num_features = 0, num_classes = 0;
  bool multi_label = false;  // a node may be of several classes
  int epoch = 0;
  std::optional<Evaluation> evaluation;  // after that epoch
};

/// Weights under PyTorch's names and in its layout, with their description.
SafeTensors pack_weights(const StateDict& state, const WeightsInfo& info);
/// The description. Throws Error beginning with `where` for weights that pack_weights() did not make.
WeightsInfo read_info(const SafeTensors& weights, const std::string& where);

/// What a checkpoint has beside the weights.
struct RunState {
  TrainerState trainer;
  std::vector<EpochReport> history;  // of all epochs so far
  std::int64_t num_nodes = 0, num_edges = 0;
  std::string settings;  // to_json(settings_of(options))
};

/// `names` are those of the parameters in the order of TrainerState::adam.
SafeTensors pack_state(const RunState& state, const std::vector<std::string>& names);
/// Throws Error beginning with `where` for what pack_state() did not make, or of other parameters.
RunState read_state(const SafeTensors& packed, const std::vector<std::string>& names,
                    const std::string& where);

/// The model's names of these parameters of it.
std::vector<std::string> names_of(const std::vector<Variable>& parameters, const Module& model);

}  // namespace rodeo
