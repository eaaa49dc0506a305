/// rodeo_predict: classifies nodes or graphs, or scores pairs of nodes, with trained weights.
#pragma once

#include "train/commands/predict_options.h"

namespace rodeo {

/// Runs options.model, or the one that the weights describe, and writes the classes of all nodes in the
/// dataset's node order. Prints accuracy, micro-F1 or R^2 if there are labels: of the test nodes of the split
/// that the weights were trained with, where the dataset has the name of theirs. Throws Error if the dataset
/// does not fit the weights, and one that lists expected and found tensors if the weights do not fit the
/// model.
void predict(const PredictOptions& options);

/// main() of rodeo_predict. Returns the exit code.
int predict_command(int argc, const char* const* argv);

}  // namespace rodeo
