#include "train/batch_sampler.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace rodeo {

void check_goes_on(std::int64_t epoch, std::int64_t batches, std::int64_t done) {
  check(done >= 0 && done < batches, "[train] epoch ", epoch, " has ", batches,
        " batches: it cannot go on after ", done);
}

BatchFraction cut_batch(std::int64_t size, int rank, int ranks) {
  const std::int64_t parts = std::clamp<std::int64_t>(size / 2, 1, ranks);
  const std::int64_t own = rank < parts ? rank : 0;
  return {.begin = own * size / parts, .end = (own + 1) * size / parts, .counts = own == rank};
}

NodeBatchSampler::NodeBatchSampler(MiniBatches batches, std::int64_t batch_size, NeighborSampler sampler,
                                   Communicator ranks)
    : sampler_(std::move(sampler)),
      ranks_(std::move(ranks)),
      batches_(std::move(batches)),
      batch_size_(batch_size) {}

std::vector<BatchSampler::Step> NodeBatchSampler::epoch(std::int64_t epoch, std::int64_t done) {
  check_goes_on(epoch, num_batches(), done);
  epoch_ = epoch;
  targets_.clear(), numbers_.clear();
  const std::vector<std::int64_t> order = order_of(epoch);
  const std::vector<Tensor> batches = batches_.cut(order);
  std::vector<Step> steps;
  auto first = order.begin();
  for (std::int64_t at = 0; at < std::ssize(batches); ++at) {
    const Tensor& targets = batches[at];
    const auto begin = std::exchange(first, first + targets.numel());
    if (at < done) continue;
    const BatchFraction own = cut_batch(targets.numel(), ranks_.rank(), ranks_.size());
    steps.push_back({.done = at + 1,
                     .examples = {begin + own.begin, begin + own.end},
                     .of_all = {begin, first},
                     .counts = own.counts,
                     .is_full = targets.numel() == batch_size_});
    targets_.push_back(targets.slice(own.begin, own.end));
    numbers_.push_back(at);
  }
  return steps;
}

std::vector<std::int64_t> NodeBatchSampler::order_of(std::int64_t epoch) {
  std::vector<std::int64_t> order = next_epoch_ == epoch ? next_order_.get() : batches_.order(epoch);
  next_epoch_ = epoch + 1;
  next_order_ = std::async(std::launch::async, [this, next = epoch + 1] { return batches_.order(next); });
  return order;
}

SampledBatch NodeBatchSampler::sample(std::size_t step) {
  return sampler_.sample_checked(targets_[step], epoch_, numbers_[step]);
}

PartBatchSampler::PartBatchSampler(NodeParts parts, Communicator ranks)
    : parts_(std::move(parts)), ranks_(std::move(ranks)) {}

std::vector<BatchSampler::Step> PartBatchSampler::epoch(std::int64_t epoch, std::int64_t done) {
  const std::vector<NodeParts::Part> parts = parts_.epoch(epoch);
  num_batches_ = std::ssize(parts);
  check_goes_on(epoch, num_batches_, done);
  own_.clear();
  std::vector<Step> steps;
  const std::int64_t rank = ranks_.rank(), ranks = ranks_.size();
  for (std::int64_t at = done; at < num_batches_; at += ranks) {
    Step step{.done = std::min<std::int64_t>(at + ranks, num_batches_)};
    for (std::int64_t i = at; i < step.done; ++i)
      step.of_all.insert(step.of_all.end(), parts[i].target_ids.begin(), parts[i].target_ids.end());
    step.counts = at + rank < step.done;
    own_.push_back(parts[step.counts ? at + rank : at]);
    step.examples = own_.back().target_ids;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace rodeo
