/// The mini-batches of an epoch, as one rank of several sees them.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "core/communicator.h"
#include "datasets/neighbor_sampler.h"
#include "datasets/node_parts.h"
#include "ops/negative_edges.h"

namespace rodeo {

/// Draws the batches of an epoch. A step trains one batch of all ranks, of which each has a fraction.
class BatchSampler {
 public:
  struct Step {
    std::int64_t done = 0;                    // batches of the epoch behind this step, over all ranks
    std::vector<std::int64_t> examples = {};  // the rank's
    std::vector<std::int64_t> of_all = {};    // those of all ranks
    bool counts = true;    // false: the rank has no examples, and repeats those of rank 0 with weight 0
    bool is_full = false;  // the batch has the size of all but the last ones; the same on all ranks
  };
  virtual ~BatchSampler() = default;

  /// The steps of epoch 1, 2, ... behind `done` of its batches. Throws Error if it has no more than that.
  virtual std::vector<Step> epoch(std::int64_t epoch, std::int64_t done) = 0;
  /// Batches of each epoch, over all ranks.
  virtual std::int64_t num_batches() const = 0;
  /// The examples of every epoch, over all ranks.
  virtual std::vector<std::int64_t> examples() const = 0;
  /// The neighbourhoods of a step of the last epoch(). Steps may be sampled in any order.
  virtual SampledBatch sample(std::size_t step) = 0;
  /// The pairs of a step that was sampled, as rows of SampledBatch::targets; undefined: examples are nodes.
  virtual NodePairs pairs(std::size_t) { return {}; }
};

/// Throws Error unless an epoch of `batches` can go on behind the first `done` of them.
void check_goes_on(std::int64_t epoch, std::int64_t batches, std::int64_t done);

/// The examples [begin, end) that a rank has of a batch. They differ by one at most between ranks, and are at
/// least two, which batch normalisation needs. Where a batch is too small for that, some ranks repeat the
/// first fraction, so that all ranks do the same work.
struct BatchFraction {
  std::int64_t begin = 0, end = 0;
  bool counts = true;  // false: it is repeated
};
/// size >= 1.
BatchFraction cut_batch(std::int64_t size, int rank, int ranks);

/// Batches of training nodes and sampled neighbours: each rank has a fraction of the targets.
class NodeBatchSampler : public BatchSampler {
 public:
  NodeBatchSampler(MiniBatches batches, std::int64_t batch_size, NeighborSampler sampler,
                   Communicator ranks = {});

  std::vector<Step> epoch(std::int64_t epoch, std::int64_t done) override;
  std::int64_t num_batches() const override { return batches_.size(); }
  std::vector<std::int64_t> examples() const override { return batches_.nodes(); }
  SampledBatch sample(std::size_t step) override;

 protected:
  NeighborSampler sampler_;
  Communicator ranks_;
  std::int64_t epoch_ = 0;

 private:
  std::vector<std::int64_t> order_of(std::int64_t epoch);

  MiniBatches batches_;
  std::int64_t batch_size_;
  std::vector<Tensor> targets_;        // the rank's, of each step
  std::vector<std::int64_t> numbers_;  // of the batch of each step
  /// The order of the next epoch, which a thread draws while this one trains.
  std::future<std::vector<std::int64_t>> next_order_;
  std::int64_t next_epoch_ = -1;
};

/// Batches are random parts of the graph with all edges inside: each rank has a part of its own in a step.
class PartBatchSampler : public BatchSampler {
 public:
  explicit PartBatchSampler(NodeParts parts, Communicator ranks = {});

  std::vector<Step> epoch(std::int64_t epoch, std::int64_t done) override;
  std::int64_t num_batches() const override { return num_batches_; }
  std::vector<std::int64_t> examples() const override { return parts_.targets(); }
  SampledBatch sample(std::size_t step) override { return parts_.sample(own_[step]); }

 private:
  NodeParts parts_;
  Communicator ranks_;
  std::vector<NodeParts::Part> own_;
  std::int64_t num_batches_ = 0;
};

}  // namespace rodeo
