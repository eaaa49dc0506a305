/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/communicator.h"
#include "core/variable.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"
#include "train/read_ahead.h"
#include "train/step_source.h"

namespace rodeo {

/// A model that trains on mini-batches, and how they are sampled.
struct MiniBatchTraining {
  MiniBatches batches;  // of the training nodes
  NeighborSampler sampler;
  std::function<Variable(const SampledBatch&)> forward;  // logits [targets, classes], or of more rows behind
  std::int64_t batch_size = 0;
  bool can_be_padded = false;  // `forward` may run on a PaddedBatch
  std::string features = {};   // describes where they are; empty: on the device
  /// If set, batches are parts of the graph; `batches` and `sampler` are not used.
  std::optional<NodeParts> parts = {};
  /// If set, each batch is given SampledBatch::features, read ahead (train/read_ahead.h).
  ReadFeatures read_features = {};
  /// Every rank has the whole graph and trains on a fraction of each batch (batch_sampler.h).
  Communicator ranks = {};
  /// The matrix whose rows `forward` gathers, for its time; undefined: not timed.
  Tensor x = {};
};

/// The steps of epochs of mini-batches.
std::shared_ptr<StepSource> make_steps(const MiniBatchTraining& training);

}  // namespace rodeo
