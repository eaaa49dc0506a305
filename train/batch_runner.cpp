#include "train/batch_runner.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "core/error.h"
#include "core/kernel_observer.h"
#include "core/stopwatch.h"

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

/// Times the kernels that read a tensor.
class ReadTimer : public KernelObserver {
 public:
  explicit ReadTimer(const Tensor& x) : x_(x) {}
  void before(const KernelCallInfo& call) override {
    if (reads(call)) watches_.emplace_back(call.device);
  }
  void after(const KernelCallInfo& call) override {
    if (reads(call)) watches_.back().stop();
  }
  /// Waits for the device. Call it once.
  double milliseconds() {
    double sum = 0;
    for (Stopwatch& watch : watches_) sum += watch.milliseconds();
    return sum;
  }

 private:
  bool reads(const KernelCallInfo& call) const {
    return std::ranges::any_of(call.operands, [this](const Tensor& operand) {
      return operand.defined() && operand.shares_memory_with(x_);
    });
  }
  const Tensor& x_;
  std::deque<Stopwatch> watches_;  // which cannot be moved
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

bool BatchRunner::is_padded(const BatchSequence& batches, std::size_t at, const SampledBatch& batch) const {
  if (!padded_) return false;
  if (batches.is_full) return batches.is_full(at);
  return batch.targets.numel() == padded_->batch().targets.numel();
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

BatchTotals BatchRunner::run(const std::vector<Tensor>& batches, std::int64_t epoch, const OnLoss& on_loss,
                             const BatchRunOptions& options) {
  check(sampler_.has_value(), "[batch_runner] it was made without a sampler: give a function that samples");
  return run({.count = batches.size(),
              .sample =
                  [&](std::size_t at) {
                    return sampler_->sample_checked(batches[at], epoch, static_cast<std::int64_t>(at));
                  }},
             on_loss, options);
}

BatchTotals BatchRunner::run(const BatchSequence& batches, const OnLoss& on_loss,
                             const BatchRunOptions& options) {
  BatchTotals totals;
  const bool times_parts = options.times_parts;
  const auto timed = [&](double BatchTotals::*part, auto&& work) {
    if (!times_parts) return work();
    const auto begin = std::chrono::steady_clock::now();
    work();
    side_.main_waits();
    synchronize(device_);
    totals.*part +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  std::deque<Stopwatch> waits;  // from the end of a batch to the begin of the next, on the training stream
  SampledBatch batch, before;   // `before` is still read by the device
  bool padded = false;
  const auto sample_next = [&](std::size_t at) {
    if (at == batches.count) return;
    if (!times_parts) waits.emplace_back(device_);
    timed(&BatchTotals::sample_ms, [&] {
      batch = side_.run([&] {
        SampledBatch next = batches.sample(at);
        padded = is_padded(batches, at, next);
        if (padded) padded_->prepare(next);
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
  bool goes_on = true;
  for (std::size_t at = 0; goes_on && at < batches.count; ++at) {
    timed(&BatchTotals::train_ms, [&] {
      side_.main_waits();
      if (!times_parts) waits.back().stop();
      if (padded) padded_->load(batch);
      side_.waits_for_main();
      before = std::exchange(batch, {});
      const auto work = [&] { return padded ? train_padded(options.captures) : work_(before); };
      Tensor loss;
      if (times_parts && options.features.defined()) {
        ReadTimer gathers(options.features);
        {
          const ScopedKernelObserver observe(gathers);
          loss = work();
        }
        totals.gather_ms += gathers.milliseconds();
      } else {
        loss = work();
      }
      goes_on = on_loss(loss, before.targets.numel());
    });
    if (goes_on) sample_next(at + 1);
  }
  totals.train_ms -= totals.gather_ms;
  for (Stopwatch& wait : waits) totals.wait_ms += wait.milliseconds();
  return totals;
}

}  // namespace rodeo
