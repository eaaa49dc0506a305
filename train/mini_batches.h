/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/variable.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"

namespace rodeo {

/// What Trainer needs to train on mini-batches.
struct MiniBatchTraining {
  MiniBatches batches;  // of the training nodes
  NeighborSampler sampler;
  std::function<Variable(const SampledBatch&)> forward;  // logits [targets, classes], or of more rows behind
  std::int64_t batch_size = 0;
  bool can_be_padded = false;  // `forward` may run on a PaddedBatch
  std::string features = {};   // describes where they are; empty: on the device
  /// If set, batches are parts of the graph; `batches` and `sampler` are not used.
  std::optional<NodeParts> parts = {};
};

}  // namespace rodeo
