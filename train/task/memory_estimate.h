/// Estimates the memory of a training step before the first one runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/task/node_model.h"
#include "train/task/options.h"

namespace rodeo {

/// Estimated bytes of activations, gradients, Adam's moments and plans: all tensors of training beside the
/// data and the parameters. Trains the same model for two epochs on the CPU on two small random graphs with
/// the same features, labels and mean degree, and extrapolates their peak memory linearly to the size of the
/// graph. docs/daily_use.md states the error. Takes milliseconds; resets the CPU's peak memory. Nothing if
/// the two runs do not fit into the host's memory.
std::optional<std::int64_t> estimate_step_bytes(const NodeRun& run, const TrainOptions& options);

/// A warning if training will probably not fit into the free memory of the data's device, or if the host
/// lacks the memory to estimate it; else empty. Skips the estimate if there is plenty of memory.
std::string memory_warning(const NodeRun& run, const TrainOptions& options);

/// Options that would reduce the memory of a run: "--attention fused, --hidden below 256".
std::string memory_advice(const TrainOptions& options, bool cuda);

}  // namespace rodeo
