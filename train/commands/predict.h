/// rodeo_predict: classifies nodes or graphs, or scores pairs of nodes, with trained weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/task/options.h"

namespace rodeo {

struct PredictOptions {
  std::string dataset;  // labels and masks are optional
  std::string weights;  // a file of --export or of a checkpoint, or a folder of checkpoints; empty: none,
                        // label_propagation() instead
  std::string edges{};  // pairs of nodes to score, for weights of --task link; else empty
  std::string
      out;  // the suffix is the format: train/commands/prediction_file.h; empty: none, but for `edges`
  std::string device = "auto";
  bool quiet = false;
  bool per_class = false;  // print precision, recall and F1 of each class, for a dataset with labels
  std::string notice{};    // set by --help and --version: print this text and exit
  /// For weights without Rodeo's description, of PyTorch for example: the model and OptionRole::kModel
  /// options.
  std::optional<TrainOptions> model{};
  std::int64_t classes = 0;         // with `model`; 0: as many as the dataset's labels have
  bool probabilities = false;       // also in text files: a column for each class
  bool logits = false;              // also write the model's outputs
  bool correct_and_smooth = false;  // of node classes: train/task/correct_and_smooth.h
  bool embeddings = false;          // also write what its last layer reads; of --task link, its outputs alone
};

/// Throws Error in one line, as parse_train_options does.
PredictOptions parse_predict_options(int argc, const char* const* argv);

/// Runs options.model, or the one that the weights describe, and writes the classes of all nodes in the
/// dataset's node order. Prints accuracy, micro-F1 or R^2 if there are labels: of the test nodes of the split
/// that the weights were trained with, where the dataset has the name of theirs. Throws Error if the dataset
/// does not fit the weights, and one that lists expected and found tensors if the weights do not fit the
/// model.
void predict(const PredictOptions& options);

/// main() of rodeo_predict. Returns the exit code.
int predict_command(int argc, const char* const* argv);

}  // namespace rodeo
