/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/communicator.h"
#include "core/variable.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"

namespace rodeo {

/// Begins to read features of nodes `index`, i64 [k]; the function that it returns waits for them, and
/// returns them, [k, n] on the device. Both are called on the stream that reads `index`.
using ReadFeatures = std::function<std::function<Tensor()>(const Tensor& index)>;

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
  /// If set, each batch is given SampledBatch::features, read ahead (train/read_ahead.h).
  ReadFeatures read_features = {};
  /// Every rank has the whole graph and trains on a share of each batch (epoch_batches.h).
  Communicator ranks = {};
  /// The matrix whose rows `forward` gathers, for its time; undefined: not timed.
  Tensor x = {};
};

}  // namespace rodeo
