/// rodeo_predict: classifies nodes with trained weights.
#pragma once

#include <string>

namespace rodeo {

struct PredictOptions {
  std::string dataset;  // labels and masks are optional
  std::string weights;  // a file of --export or of a checkpoint, or a folder of checkpoints
  std::string out;
  std::string device = "auto";
  bool quiet = false;
  std::string notice{};  // set by --help and --version: print this text and exit
};

/// Throws Error in one line, as parse_train_options does.
PredictOptions parse_predict_options(int argc, const char* const* argv);

/// Runs the model that the weights describe, and writes an HDF5 file in the dataset's node order:
///   class        i64 [nodes], the most probable class; with several labels per node, u8 [nodes, classes], 1
///                for a probability above 0.5
///   probability  f32 [nodes, classes]
///   node_id      if the dataset has it
/// and attributes that name dataset, weights, model and version. Prints the accuracy if there are labels.
/// Throws Error if the dataset does not fit the weights.
void predict(const PredictOptions& options);

/// main() of rodeo_predict. Returns the exit code.
int predict_command(int argc, const char* const* argv);

}  // namespace rodeo
