/// The options of rodeo_predict.
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

}  // namespace rodeo
