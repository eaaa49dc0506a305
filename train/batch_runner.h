/// Runs training work on the mini-batches of an epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/side_stream.h"
#include "datasets/padded_batch.h"
#include "train/step_runner.h"

namespace rodeo {

/// The batches of an epoch, together.
struct BatchTotals {
  std::int64_t batches = 0;
  std::int64_t edges = 0;  // sampled, of all layers
  std::int64_t nodes = 0;  // whose features layer 0 reads
  // Milliseconds, where parts are timed; else 0. `gather` has the kernels that read features, `train` has the
  // copies to padded batches and all other kernels.
  double sample_ms = 0, gather_ms = 0, train_ms = 0;
  // Milliseconds that the training stream waited for the next batch; 0 where parts are timed one after the
  // other. On the CPU, where nothing overlaps, the time of sampling.
  double wait_ms = 0;
};

/// The batches 0 .. count - 1, in their order.
struct BatchSequence {
  std::size_t count = 0;
  std::function<SampledBatch(std::size_t at)> sample;
  /// Whether a batch may be padded; null: if it has as many targets as a full batch. Where the work talks to
  /// other ranks, all of them must say the same of a batch.
  std::function<bool(std::size_t at)> is_full = {};
};

struct BatchRunOptions {
  bool captures = false;     // padded batches may replay a CUDA graph
  bool times_parts = false;  // sampling and training run one after the other, and the host waits for each
  Tensor features = {};      // BatchTotals::gather_ms is of the kernels that read it; undefined: none
};

/// On CUDA the next batch is sampled on a second stream while the device trains on the one before. Work that
/// can be padded runs on batches of equal sizes (padded_batch.h) and replays one CUDA graph, but for the
/// first two batches; a smaller last batch of an epoch runs kernel by kernel. The bits do not depend on the
/// overlap, nor on the CUDA graph.
class BatchRunner {
 public:
  /// work(batch) trains on a batch and returns its loss. `reads`: the variables that it reads; replacing one
  /// of them makes the CUDA graph stale (step_runner.h).
  /// `padded_targets`: the targets of a full batch, for work that may run on a PaddedBatch; 0: no padding.
  /// Ignored on the CPU, and where a fan-out is kAllNeighbors.
  BatchRunner(NeighborSampler sampler, std::function<Tensor(const SampledBatch&)> work,
              std::vector<Variable> reads, std::int64_t padded_targets);
  /// For batches that `sampler` does not draw: parts of a graph. They are not padded.
  BatchRunner(Device device, std::function<Tensor(const SampledBatch&)> work);
  BatchRunner(const BatchRunner&) = delete;
  BatchRunner& operator=(const BatchRunner&) = delete;

  /// Called behind the work of each batch; the next batch overwrites the loss. Returns whether to go on: with
  /// false, this batch is the last.
  using OnLoss = std::function<bool(const Tensor& loss, std::int64_t targets)>;

  /// Runs the batches of the sampler with these targets.
  BatchTotals run(const std::vector<Tensor>& batches, std::int64_t epoch, const OnLoss& on_loss,
                  const BatchRunOptions& options = {});
  /// The same for any batches.
  BatchTotals run(const BatchSequence& batches, const OnLoss& on_loss, const BatchRunOptions& options = {});

  /// Kernels of the CUDA graph; 0 without one.
  int num_kernels() const { return step_ ? step_->num_kernels() : 0; }

 private:
  bool is_padded(const BatchSequence& batches, std::size_t at, const SampledBatch& batch) const;
  Tensor train_padded(bool captures);

  std::optional<NeighborSampler> sampler_;
  Device device_;
  std::function<Tensor(const SampledBatch&)> work_;
  SideStream side_;
  std::optional<PaddedBatch> padded_;
  std::optional<StepRunner> step_;  // of the padded batch
  bool has_run_padded_ = false;
};

}  // namespace rodeo
