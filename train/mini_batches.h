/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <functional>
#include <optional>

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
  /// If set, batches are parts of the graph; `batches` and `sampler` are not used.
  std::optional<NodeParts> parts = {};
};

}  // namespace rodeo
