/// Training on mini-batches of sampled neighbourhoods.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"
#include "ops/row_cache_types.h"
#include "train/batch_sampler.h"
#include "train/read_ahead.h"
#include "train/step_source.h"

namespace rodeo {

/// How the mini-batches of a model are sampled, and where their features are.
struct MiniBatchTraining {
  MiniBatches batches;  // of the training nodes
  NeighborSampler sampler;
  std::int64_t batch_size = 0;
  bool can_be_padded = false;  // the model may run on a PaddedBatch
  std::string features = {};   // describes where they are; empty: on the device
  /// If set, batches are parts of the graph; `batches` and `sampler` are not used.
  std::optional<NodeParts> parts = {};
  /// If set, each batch is given SampledBatch::features, read ahead (train/read_ahead.h).
  ReadFeatures read_features = {};
  /// Every rank has the whole graph and trains on a fraction of each batch (batch_sampler.h).
  Communicator ranks = {};
  /// The matrix whose rows the model gathers; undefined with read_features.
  Tensor x = {};
  RowCache cache = {};  // of x
  /// For several node types: the matrices whose rows the model gathers, instead of x.
  std::vector<Tensor> x_of_types = {};
};

/// The steps of epochs of mini-batches: those of `sampler`, else of neighbourhoods or parts of training
/// nodes.
std::shared_ptr<StepSource> make_steps(const MiniBatchTraining& training,
                                       std::unique_ptr<BatchSampler> sampler = {});

}  // namespace rodeo
