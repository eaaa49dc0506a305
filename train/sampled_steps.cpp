#include "train/sampled_steps.h"

#include <algorithm>
#include <utility>

#include "train/timing.h"

namespace rodeo {

SampledSteps::SampledSteps(std::unique_ptr<BatchSampler> sampler, Device device,
                           const SampledStepsOptions& options)
    : sampler_(std::move(sampler)),
      device_(device),
      read_features_(options.read_features),
      x_(options.x),
      side_(device) {
  if (options.padded_targets == 0 || !device.is_cuda() ||
      std::ranges::count(options.sampler->options().fanout, kAllNeighbors))
    return;
  padded_.emplace(options.sampler->graph(), options.sampler->options(), options.padded_targets);
  fixed_.batch = &padded_->batch();
  fixed_.examples.ids = padded_->batch().targets;
  fixed_.is_fixed = true;
}

void SampledSteps::begin_epoch(const EpochStart& start) {
  steps_ = sampler_->epoch(start.epoch, start.done);
  times_parts_ = start.times_parts;
  at_ = 0;
  totals_ = {};
  waits_.clear();
  ahead_.emplace(
      steps_.size(), [this](std::size_t step) { return sampler_->sample(step); }, read_features_);
  // Batches are allocated on the side stream: it reuses their memory after the work that reads them.
  side_.waits_for_main();
}

template <class Work>
void SampledSteps::run(double BatchTotals::*part, Work&& work) {
  if (!times_parts_) return work();
  totals_.*part += timed(device_, [&] {
    work();
    side_.main_waits();
  });
}

void SampledSteps::sample(std::size_t step) {
  next_ = side_.run([&] {
    Drawn drawn{(*ahead_)(step), sampler_->pairs(step)};
    is_padded_ = padded_ && steps_[step].is_full;
    if (is_padded_) padded_->prepare(drawn.batch);
    return drawn;
  });
  ++totals_.batches;
  totals_.nodes += next_.batch.inputs().numel();
  for (const Block& block : next_.batch.blocks) totals_.edges += block.adj.num_edges();
}

const StepInput* SampledSteps::next() {
  if (std::exchange(gave_padded_, false) && !std::exchange(is_kept_, true)) padded_->keep_what_was_used();
  if (at_ == steps_.size()) return nullptr;
  if (!times_parts_) waits_.emplace_back(device_);
  run(&BatchTotals::sample_ms, [&] { sample(at_); });
  run(&BatchTotals::train_ms, [&] {
    side_.main_waits();
    if (!times_parts_) waits_.back().stop();
    if (is_padded_) padded_->load(next_.batch);
    side_.waits_for_main();
    now_ = std::exchange(next_, {});
  });
  BatchSampler::Step& step = steps_[at_++];
  StepInput& out = is_padded_ ? fixed_ : input_;
  gave_padded_ = is_padded_;
  out.examples.host = std::move(step.examples);
  out.of_all = std::move(step.of_all);
  out.counts = step.counts;
  if (is_padded_) return &fixed_;
  input_.batch = &now_.batch;
  input_.pairs = now_.pairs.src.defined() ? &now_.pairs : nullptr;
  input_.examples.ids = input_.pairs ? Tensor::from(input_.examples.host, device_) : now_.batch.targets;
  return &input_;
}

void SampledSteps::end_epoch() {
  gave_padded_ = false;
  side_.waits_for_main();
  now_ = {}, next_ = {};
  ahead_.reset();
}

BatchTotals* SampledSteps::totals() {
  for (Stopwatch& wait : waits_) totals_.wait_ms += wait.milliseconds();
  waits_.clear();
  return &totals_;
}

}  // namespace rodeo
