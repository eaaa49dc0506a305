/// The steps of an epoch of mini-batches, as one rank of several sees them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "train/mini_batches.h"

namespace rodeo {

/// The targets [begin, end) that a rank has of a batch of `targets`, and their share of it.
struct BatchShare {
  std::int64_t begin = 0, end = 0;
  double share = 0;
};
/// Shares differ by one target at most, and have at least two, which batch normalisation needs. Where a batch
/// is too small for that, some ranks repeat the first share with weight 0, so that all ranks do the same
/// work. targets >= 1.
BatchShare cut_batch(std::int64_t targets, int rank, int ranks);

/// A step trains one batch of all ranks. Sampled neighbourhoods: each rank has a share of its targets. Parts:
/// each rank has a part of its own. Without a batch of its own a rank repeats that of rank 0 with share 0. An
/// epoch is a function of the seeds and the number of ranks.
class EpochBatches {
 public:
  /// What is left of epoch 1, 2, ... after `done` of its batches. `training` must outlive it. Throws Error if
  /// the epoch has no more batches than that.
  EpochBatches(const MiniBatchTraining& training, std::int64_t epoch, std::int64_t done = 0);

  std::size_t size() const { return steps_.size(); }
  std::int64_t num_batches() const { return num_batches_; }  // of the whole epoch, over all ranks
  /// Batches of the epoch that are done after step `at`.
  std::int64_t done_after(std::size_t at) const { return steps_[at].done; }
  /// The rank's batch of a step.
  SampledBatch sample(std::size_t at) const;
  /// Whether the batch has the size of all but the last ones; the same on all ranks.
  bool is_full(std::size_t at) const { return steps_[at].is_full; }
  std::int64_t targets(std::size_t at) const { return steps_[at].targets; }  // of all ranks
  double share(std::size_t at) const { return steps_[at].share; }            // the rank's, of these

 private:
  struct Step {
    std::int64_t done = 0, targets = 0;
    double share = 1;
    bool is_full = false;
    NodeParts::Part own = {};  // of sampled neighbourhoods the targets alone
  };
  const MiniBatchTraining& training_;
  std::int64_t epoch_, num_batches_ = 0;
  std::vector<Step> steps_;
};

}  // namespace rodeo
