/// What a training step will hold, before the first one is run.
#pragma once

#include <cstdint>
#include <string>

#include "train/task/node_model.h"
#include "train/task/options.h"

namespace rodeo {

/// Bytes of tensors that training holds beside the data and the parameters: activations, gradients, Adam's
/// moments, plans. Measured: two epochs of the same model are trained on the CPU on two small random graphs
/// of the same features, labels and edges a node, and the line through both is drawn on to the size of the
/// graph. docs/daily_use.md says how far it is off. Takes milliseconds; resets the CPU's peak memory.
std::int64_t estimate_step_bytes(const NodeRun& run, const TrainOptions& options);

/// A line for the case that training will not fit into what is free on the data's device; empty where it
/// will. Nothing is estimated where there is plenty.
std::string memory_warning(const NodeRun& run, const TrainOptions& options);

/// What of a run's options may make it need less memory: "--attention fused, --hidden below 256".
std::string memory_advice(const TrainOptions& options, bool cuda);

}  // namespace rodeo
