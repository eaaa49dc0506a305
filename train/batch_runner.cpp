#include "train/batch_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

// Batches are allocated on the side stream: it reuses their memory after the work that reads them.
class InFlight {
 public:
  explicit InFlight(const SideStream& side) : side_(side) {}
  ~InFlight() { side_.waits_for_main(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  const SideStream& side_;
};

}  // namespace

BatchRunner::BatchRunner(NeighborSampler sampler, std::function<Tensor(const SampledBatch&)> work,
                         std::vector<Variable> reads, std::int64_t padded_targets)
    : BatchRunner(sampler.graph().device(), std::move(work)) {
  sampler_.emplace(std::move(sampler));
  if (padded_targets == 0 || !device_.is_cuda() ||
      std::ranges::count(sampler_->options().fanout, kAllNeighbors))
    return;
  padded_.emplace(sampler_->graph(), sampler_->options(), padded_targets);
  step_.emplace(
      device_, [this] { return work_(padded_->batch()); }, std::move(reads));
}

BatchRunner::BatchRunner(Device device, std::function<Tensor(const SampledBatch&)> work)
    : device_(device), work_(std::move(work)), side_(device) {}

bool BatchRunner::is_padded(const Tensor& targets) const {
  return padded_ && targets.numel() == padded_->batch().targets.numel();
}

Tensor BatchRunner::train_padded(bool captures) {
  if (!captures || !has_run_padded_) {
    const Tensor loss = step_->run();
    if (!std::exchange(has_run_padded_, true)) padded_->keep_what_was_used();
    return loss;
  }
  if (!step_->is_current()) try {
      step_->capture();
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      fail(error.what(), "; train without a CUDA graph (--no-cuda-graph)");
    }
  return step_->replay();
}

BatchTotals BatchRunner::run(const std::vector<Tensor>& batches, std::int64_t epoch, bool captures,
                             const std::function<void(const Tensor& loss, std::int64_t targets)>& on_loss,
                             bool times_parts) {
  check(sampler_.has_value(), "[batch_runner] it was made without a sampler: give a function that samples");
  return run(
      batches.size(),
      [&](std::size_t at) {
        return sampler_->sample_checked(batches[at], epoch, static_cast<std::int64_t>(at));
      },
      captures, on_loss, times_parts);
}

BatchTotals BatchRunner::run(std::size_t count, const std::function<SampledBatch(std::size_t)>& sample,
                             bool captures,
                             const std::function<void(const Tensor& loss, std::int64_t targets)>& on_loss,
                             bool times_parts) {
  BatchTotals totals;
  const auto timed = [&](double BatchTotals::*part, auto&& work) {
    if (!times_parts) return work();
    const auto begin = std::chrono::steady_clock::now();
    work();
    side_.main_waits();
    synchronize(device_);
    totals.*part +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  SampledBatch batch, before;  // `before` is still read by the device
  const auto sample_next = [&](std::size_t at) {
    if (at == count) return;
    timed(&BatchTotals::sample_ms, [&] {
      batch = side_.run([&] {
        SampledBatch next = sample(at);
        if (is_padded(next.targets)) padded_->prepare(next);
        return next;
      });
    });
    ++totals.batches;
    totals.nodes += batch.inputs().numel();
    for (const Block& block : batch.blocks) totals.edges += block.adj.num_edges();
  };
  const InFlight in_flight(side_);
  side_.waits_for_main();
  if (times_parts) synchronize(device_);
  sample_next(0);
  for (std::size_t at = 0; at < count; ++at) {
    const bool padded = is_padded(batch.targets);
    timed(&BatchTotals::train_ms, [&] {
      side_.main_waits();
      if (padded) padded_->load(batch);
      side_.waits_for_main();
      before = std::exchange(batch, {});
      on_loss(padded ? train_padded(captures) : work_(before), before.targets.numel());
    });
    sample_next(at + 1);
  }
  return totals;
}

}  // namespace rodeo
