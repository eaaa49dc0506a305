#include "train/epoch_batches.h"

#include <algorithm>

#include "core/error.h"

namespace rodeo {

BatchShare cut_batch(std::int64_t targets, int rank, int ranks) {
  const std::int64_t shares = std::clamp<std::int64_t>(targets / 2, 1, ranks);
  const std::int64_t own = rank < shares ? rank : 0;
  BatchShare out{.begin = own * targets / shares, .end = (own + 1) * targets / shares};
  if (own == rank) out.share = static_cast<double>(out.end - out.begin) / static_cast<double>(targets);
  return out;
}

EpochBatches::EpochBatches(const MiniBatchTraining& training, std::int64_t epoch, std::int64_t done)
    : training_(training), epoch_(epoch) {
  const int rank = training.ranks.rank(), ranks = training.ranks.size();
  const auto check_done = [&] {
    check(done >= 0 && done < num_batches_, "[train] epoch ", epoch, " has ", num_batches_,
          " batches: it cannot go on after ", done);
  };
  if (training.parts) {
    const std::vector<NodeParts::Part> parts = training.parts->epoch(epoch);
    num_batches_ = std::ssize(parts);
    check_done();
    for (std::int64_t at = done; at < num_batches_; at += ranks) {
      Step step{.done = std::min<std::int64_t>(at + ranks, num_batches_)};
      for (std::int64_t i = at; i < step.done; ++i) step.targets += parts[i].targets;
      const bool has_own = at + rank < step.done;
      step.own = parts[has_own ? at + rank : at];
      step.share = has_own ? static_cast<double>(step.own.targets) / static_cast<double>(step.targets) : 0;
      steps_.push_back(std::move(step));
    }
    return;
  }
  const std::vector<Tensor> batches = training.batches.epoch(epoch);
  num_batches_ = std::ssize(batches);
  check_done();
  for (std::int64_t at = done; at < num_batches_; ++at) {
    const Tensor& targets = batches[at];
    const BatchShare own = cut_batch(targets.numel(), rank, ranks);
    steps_.push_back({.done = at + 1,
                      .targets = targets.numel(),
                      .share = own.share,
                      .is_full = targets.numel() == training.batch_size,
                      .own = {targets.slice(own.begin, own.end), own.end - own.begin}});
  }
}

SampledBatch EpochBatches::sample(std::size_t at) const {
  const Step& step = steps_[at];
  if (training_.parts) return training_.parts->sample(step.own);
  return training_.sampler.sample_checked(step.own.nodes, epoch_, step.done - 1);
}

}  // namespace rodeo
