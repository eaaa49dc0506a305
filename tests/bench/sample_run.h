/// Epochs of GraphSAGE on sampled mini-batches, on one rank or several.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/communicator.h"
#include "datasets/neighbor_sampler.h"
#include "models/sage.h"
#include "ops/row_cache.h"
#include "train/adam.h"
#include "train/batch_runner.h"
#include "train/epoch_batches.h"
#include "train/rank_sums.h"

namespace rodeo::bench {

struct SampleSettings {
  std::string graph;
  std::int64_t batch = 0;  // of all ranks
  std::int64_t hidden = 0, train = 0, features = 0, classes = 0;
  std::vector<std::int64_t> fanout;
  int epochs = 0;
  Device device = kCpu;
  DType dtype = DType::kF32;
  bool on_host = false;         // features: page-locked
  std::int64_t cache_mib = -1;  // -1: half of what is free on the device
  Communicator ranks = {};
};

/// What all runs share. Every rank has all of it.
struct SampleData {
  std::string name;
  Adjacency graph;
  Tensor x;      // [nodes, features]
  Tensor label;  // i64 [nodes]
  Tensor train;  // i64 [k], on the host
  RowCache cache = {};
};

/// Milliseconds.
struct SampleParts {
  double sample = 0, gather = 0, train = 0;
};

/// A model and its training. Over ranks each batch is cut into shares, and gradients are summed.
class SampleRun {
 public:
  SampleRun(const SampleSettings& settings, const SampleData& data);

  std::int64_t num_batches() const { return batches_.size(); }
  int num_kernels() const { return runner_.num_kernels(); }
  std::int64_t edges = 0, nodes = 0;  // of this rank, of the last parts()

  /// The loss of each of the first `count` batches of an epoch, of this rank's share.
  std::vector<double> losses(int epoch, std::size_t count, bool captured);
  /// Milliseconds of an epoch as it is trained, and those of it in which training waits for a batch.
  std::pair<double, double> epoch(int number);
  /// Of an epoch.
  SampleParts parts(int epoch);

 private:
  /// This rank's share of each batch of an epoch.
  struct Own {
    Tensor targets;
    double share;  // of the batch
    bool is_full;
  };
  std::vector<Own> own_batches(int epoch) const;
  BatchTotals train(const std::vector<Own>& own, int epoch, bool captured,
                    const BatchRunner::OnLoss& on_loss);
  Features features(const SampledBatch& batch) const;
  Tensor step(const SampledBatch& batch, const Features& x);

  SampleSettings s_;
  NeighborSampler sampler_;
  Tensor x_;
  RowCache cache_;
  Tensor label_, rows_;
  MiniBatches batches_;
  Sage model_;
  Adam adam_;
  RankSums sums_;
  Own at_;             // the batch that step() is given
  Tensor full_share_;  // a CUDA graph reads it
  BatchRunner runner_;
};

/// Throws Error unless the losses of a few batches are the same with the CUDA graph and without.
void verify_batches(const SampleSettings& settings, const SampleData& data);

}  // namespace rodeo::bench
