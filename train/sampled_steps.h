/// Training steps on mini-batches, sampled while the device trains on the batch before.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/side_stream.h"
#include "core/stopwatch.h"
#include "datasets/padded_batch.h"
#include "train/batch_sampler.h"
#include "train/read_ahead.h"
#include "train/step_source.h"

namespace rodeo {

struct SampledStepsOptions {
  /// If set, each batch is given SampledBatch::features, read ahead (train/read_ahead.h).
  ReadFeatures read_features = {};
  /// The matrices whose rows the model gathers, for the time of it.
  std::vector<Tensor> x = {};
  /// The targets of a full batch of this rank, for models that may run on a PaddedBatch; 0: no padding.
  /// Ignored on the CPU, and where a fan-out is kAllNeighbors.
  std::int64_t padded_targets = 0;
  /// With padded_targets: what the batches are sampled from.
  const NeighborSampler* sampler = nullptr;
};

/// On CUDA the next batch is sampled on a second stream while the device trains on the one before. Full
/// batches of models that can be padded have equal sizes (padded_batch.h), so that one CUDA graph serves
/// them; a smaller last batch of an epoch runs kernel by kernel. The bits do not depend on the overlap, nor
/// on the CUDA graph.
class SampledSteps : public StepSource {
 public:
  SampledSteps(std::unique_ptr<BatchSampler> sampler, Device device, const SampledStepsOptions& options = {});

  void begin_epoch(const EpochStart& start) override;
  const StepInput* next() override;
  void end_epoch() override;
  const StepInput* fixed() const override { return padded_ ? &fixed_ : nullptr; }
  std::int64_t num_batches() const override { return sampler_->num_batches(); }
  std::int64_t num_done() const override { return steps_[at_ - 1].done; }
  std::vector<std::int64_t> examples() const override { return sampler_->examples(); }
  bool ranks_are_independent() const override { return true; }
  BatchTotals* totals() override;
  std::vector<Tensor> features() const override { return x_; }

 private:
  struct Drawn {
    SampledBatch batch;
    NodePairs pairs;
  };
  template <class Work>
  void run(double BatchTotals::*part, Work&& work);
  void sample(std::size_t step);

  std::unique_ptr<BatchSampler> sampler_;
  Device device_;
  ReadFeatures read_features_;
  std::vector<Tensor> x_;
  SideStream side_;
  std::optional<PaddedBatch> padded_;
  bool gave_padded_ = false, is_kept_ = false;  // keep_what_was_used() follows the first padded step

  bool times_parts_ = false;
  std::vector<BatchSampler::Step> steps_;  // of this epoch
  std::optional<ReadAhead> ahead_;
  std::size_t at_ = 0;      // steps given
  Drawn now_, next_;        // the device may still read now_
  bool is_padded_ = false;  // next_ is copied to padded_
  StepInput input_, fixed_;
  BatchTotals totals_;
  std::deque<Stopwatch> waits_;  // from the end of a batch to the begin of the next, on the training stream
};

}  // namespace rodeo
