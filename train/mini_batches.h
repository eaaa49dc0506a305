/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <functional>

#include "core/variable.h"
#include "datasets/neighbor_sampler.h"

namespace rodeo {

/// What Trainer needs to train on mini-batches.
struct MiniBatchTraining {
  MiniBatches batches;  // of the training nodes
  NeighborSampler sampler;
  std::function<Variable(const SampledBatch&)> forward;  // logits [targets, classes]
  std::int64_t batch_size = 0;
  bool can_be_padded = false;  // `forward` may run on a PaddedBatch
};

}  // namespace rodeo
