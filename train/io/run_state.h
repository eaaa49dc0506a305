/// Contents of checkpoints and exported weights.
#pragma once

#include <string>
#include <vector>

#include "layers/module.h"
#include "train/checkpoint.h"
#include "train/task/feature_scale.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// The description in a file of weights, in its metadata under "rodeo".
struct WeightsInfo {
  TrainOptions options;  // OptionRole::kModel and the metric; the others are the model's defaults
  std::string dataset;   // name
  std::int64_t num_features = 0, num_classes = 0;
  bool multi_label = false;  // several labels per node
  bool regression = false;   // num_classes targets per node
  int epoch = 0;
  std::optional<Evaluation> evaluation;  // after that epoch
  std::vector<std::string> class_names;  // of the dataset; empty: none
  ColumnScale features;                  // of --normalize-features standard, which `options` has then
  ColumnScale targets;                   // the outputs are of targets that it was applied to
  TrainedTypes types = {};               // of a model of several node types, with the scales of features
  std::string split;                     // --split, with --seed
  std::uint64_t seed = 0;
};

/// The description as JSON.
std::string describe_weights(const WeightsInfo& info);
/// Weights with PyTorch's names and layout, and their description.
SafeTensors pack_weights(const StateDict& state, const WeightsInfo& info);
/// Whether pack_weights() wrote a description.
bool is_described(const SafeTensors& weights);
/// Reads the description. Throws Error beginning with `where` if pack_weights() did not write the weights.
WeightsInfo read_info(const SafeTensors& weights, const std::string& where);

/// The tensors of `found`, floats converted to f32, if they have the names and shapes of `expected`.
/// Otherwise throws one Error in one line: "WHERE: does not fit MODEL: expected conv1.bias [16], found none;
/// ...HINT", with all tensors that are missing, of another shape or dtype, or too many. PyTorch's
/// num_batches_tracked is left out.
StateDict fit_weights(const StateDict& expected, const StateDict& found, const std::string& where,
                      const std::string& model, const std::string& hint);

/// The part of a checkpoint beside the weights.
struct RunState {
  TrainerState trainer;
  std::vector<EpochReport> history;  // of all epochs so far
  std::int64_t num_nodes = 0, num_edges = 0;
  std::string settings;  // settings_of(options)
};

/// `names`: of the parameters, in the order of TrainerState::optimizer. Its tensors are named "adam.steps",
/// "adam.m.conv1.weight": optimizer, slot, parameter.
SafeTensors pack_state(const RunState& state, const std::vector<std::string>& names);
/// Throws Error beginning with `where` if pack_state() did not write the tensors.
RunState read_state(const SafeTensors& packed, const std::vector<std::string>& names,
                    const std::string& where);

/// The names of parameters of `model`.
std::vector<std::string> names_of(const std::vector<Variable>& parameters, const Module& model);

}  // namespace rodeo
