// Mini-batches of a Trainer.
#include <numeric>
#include <vector>

#include "core/random.h"
#include "core/random_streams.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/pointwise.h"
#include "train/epoch_batches.h"
#include "train/objective.h"
#include "train/rank_sums.h"
#include "train/read_ahead.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

/// The targets of a full batch that a padded batch of this rank holds; 0: no padding.
std::int64_t padded_targets(const MiniBatchTraining& training) {
  if (!training.can_be_padded) return 0;
  const BatchShare own = cut_batch(training.batch_size, training.ranks.rank(), training.ranks.size());
  return own.end - own.begin;
}

/// Of all ranks.
BatchTotals sum_over(const Communicator& ranks, BatchTotals totals, Device device) {
  const Tensor sums = Tensor::from(std::vector{totals.edges, totals.nodes}, device);
  ranks.all_reduce(sums);
  const std::vector<std::int64_t> all = sums.to_vector<std::int64_t>();
  totals.edges = all[0], totals.nodes = all[1];
  return totals;
}

}  // namespace

Tensor Trainer::mini_batch_epoch() {
  const MiniBatchTraining& training = *options_.mini_batches;
  const auto work = [this](const SampledBatch& batch) { return batch_work_(batch); };
  if (!batches_)
    batches_ = training.parts ? std::make_unique<BatchRunner>(device_, work)
                              : std::make_unique<BatchRunner>(training.sampler, work, model_.parameters(),
                                                              padded_targets(training));
  const int epoch = progress_.epoch + 1;
  const EpochBatches batches(training, epoch, progress_.batch);
  std::size_t at = 0;
  batch_work_ = [&](const SampledBatch& batch) {
    return mini_batch_step(batch, batches.share(at), batches.is_full(at));
  };
  stopped_within_ = false;
  const auto on_loss = [&](const Tensor& loss, std::int64_t) {
    if (!batch_loss_.defined() && progress_.batch > 0)
      batch_loss_ = Tensor::full({}, progress_.batch_loss, loss.dtype(), loss.device());
    const auto size = static_cast<double>(batches.targets(at));
    batch_loss_ = batch_loss_.defined() ? linear_combination(1, batch_loss_, size, loss)
                                        : linear_combination(size, loss, 0, loss);
    progress_.batch = static_cast<int>(batches.done_after(at));
    if (options_.on_batch) options_.on_batch(epoch, progress_.batch, static_cast<int>(batches.num_batches()));
    if (++at == batches.size()) return false;
    stopped_within_ = stops();
    return !stopped_within_;
  };
  ReadAhead ahead(
      batches.size(), [&](std::size_t i) { return batches.sample(i); }, training.read_features);
  const BatchTotals totals = batches_->run(
      {.count = batches.size(),
       .sample = [&](std::size_t i) { return ahead(i); },
       .is_full = [&](std::size_t i) { return batches.is_full(i); }},
      on_loss, {.captures = captures_batches_, .times_parts = times_batches_, .features = training.x});
  batch_totals_ = ranks_ ? sum_over(training.ranks, totals, device_) : totals;
  if (stopped_within_) return batch_loss_;
  progress_.batch = 0;
  progress_.batch_loss = 0;
  const Tensor sum = std::exchange(batch_loss_, {});
  return linear_combination(1 / static_cast<double>(split_.train.numel()), sum, 0, sum);
}

Tensor Trainer::mini_batch_step(const SampledBatch& batch, double share, bool is_full) {
  optimizer_->zero_grad();
  const RandomStep random_step(optimizer_->step_counter());
  const ScopedStreams streams(ranks_ ? ranks_->first_stream() : 0);
  const std::int64_t targets = batch.targets.numel();
  Variable logits = options_.mini_batches->forward(batch);
  if (logits.dim(0) > targets) logits = rows(logits, 0, targets);
  const Variable loss = classification_loss(logits, take(label_, batch.targets), first_rows(targets));
  Tensor out;
  if (ranks_) {
    Tensor of_rank = is_full ? full_share_ : Tensor();
    if (!of_rank.defined()) of_rank = Tensor::full({}, share, loss.dtype(), device_);
    if (is_full) full_share_ = of_rank;
    loss.backward(of_rank);
    out = mul(loss.value(), of_rank);
    ranks_->sum_gradients(out);
    optimizer_->step(options_.clip_norm);
    std::vector<Tensor> buffers;
    for (const auto& [name, buffer] : model_.named_buffers()) buffers.push_back(buffer);
    ranks_->average(buffers, share);
  } else {
    out = update(loss);
  }
  optimizer_->zero_grad();  // a CUDA graph reuses the memory
  return out;
}

Tensor Trainer::first_rows(std::int64_t count) {
  // The shorter ones are kept, because captured CUDA graphs read them.
  if (train_rows_.empty() || train_rows_.back().numel() < count) {
    std::vector<std::int64_t> row(static_cast<std::size_t>(count));
    std::iota(row.begin(), row.end(), 0);
    train_rows_.push_back(Tensor::from(row, device_));
  }
  return train_rows_.back().slice(0, count);
}

}  // namespace rodeo
