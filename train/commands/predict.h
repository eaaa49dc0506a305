/// Classes of nodes by trained weights.
#pragma once

#include <string>

namespace rodeo {

struct PredictOptions {
  std::string dataset;  // labels and masks need not be there
  std::string weights;  // of --export, of a checkpoint, or a folder of checkpoints
  std::string out;
  std::string device = "auto";
  bool quiet = false;
  std::string notice{};  // not empty after --help and --version: print this, and do nothing else
};

/// Throws Error in one line, as parse_train_options does.
PredictOptions parse_predict_options(int argc, const char* const* argv);

/// Writes an HDF5 file with class i64 [nodes], the most probable one, and probability f32 [nodes, classes],
/// in the order of the dataset's nodes, with node_id where that has it, and with attributes that say where
/// they come from. Where a node may be of several classes, class is u8 [nodes, classes]: 1 for a probability
/// above a half. The model is the one that the weights describe. Says what it does, and where there are
/// labels how often it is right. Throws Error where dataset and weights do not belong together.
void predict(const PredictOptions& options);

/// The predict command: parses, predicts and returns the exit code.
int predict_command(int argc, const char* const* argv);

}  // namespace rodeo
