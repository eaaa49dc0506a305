#include "train/rank_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/pointwise.h"
#include "train/objective.h"

namespace rodeo {
namespace {

/// The ids of a split part of all ranks, numbered over all nodes.
Tensor all_ids(const NodePartition& nodes, const Tensor& own) {
  std::vector<std::int64_t> ids = own.to_vector<std::int64_t>();
  for (std::int64_t& id : ids) id += nodes.first_row();
  const Tensor count = Tensor::from(std::vector{own.numel()}, own.device());
  const std::vector<std::int64_t> counts = nodes.ranks().all_gather(count).to_vector<std::int64_t>();
  return nodes.ranks().all_gather(Tensor::from(ids, own.device()), counts);
}

}  // namespace

Split split_of_all(const NodePartition& nodes, const Split& own) {
  return {all_ids(nodes, own.train), all_ids(nodes, own.val), all_ids(nodes, own.test)};
}

RankSums::RankSums(Communicator ranks, std::vector<Variable> parameters, Device device)
    : ranks_(std::move(ranks)), parameters_(std::move(parameters)), device_(device) {}

RankSums::RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters,
                   Device device)
    : ranks_(nodes->ranks()), nodes_(std::move(nodes)), parameters_(std::move(parameters)), device_(device) {}

RankSums::RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters, Tensor label,
                   Split split)
    : ranks_(nodes->ranks()),
      nodes_(std::move(nodes)),
      parameters_(std::move(parameters)),
      device_(label.device()),
      label_(std::move(label)),
      split_(std::move(split)) {
  const Device device = device_;
  const std::vector<std::int64_t> own{split_.train.numel(), split_.val.numel(), split_.test.numel()};
  const Tensor total = Tensor::from(own, device);
  ranks_.all_reduce(total);
  total_ = total.to_vector<std::int64_t>();
  std::vector<double> counts;
  for (const std::int64_t count : own) counts.insert(counts.end(), 2, static_cast<double>(count));
  counts_ = Tensor::from(counts, {3, 2}, device);
  if (label_.rank() == 2) {
    all_label_ = all_gather(*nodes_, label_);
    all_split_ = split_of_all(*nodes_, split_);
  }
}

Tensor RankSums::backward(const Variable& logits) {
  return backward(logits, label_, split_.train);
}

Tensor RankSums::backward(const Variable& logits, const Tensor& label, const Tensor& train) {
  Tensor loss;
  if (train.numel() > 0) {
    const Variable mean = classification_loss(logits, label, train);
    if (!loss_share_.defined())
      loss_share_ = Tensor::full({}, static_cast<double>(train.numel()) / static_cast<double>(num_train()),
                                 mean.dtype(), mean.device());
    mean.backward(loss_share_);
    loss = mul(mean.value(), loss_share_);
  } else {  // takes part in the exchange of the other ranks
    logits.backward(Tensor::zeros(logits.shape(), logits.dtype(), logits.device()));
    const DType dtype = logits.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    loss = Tensor::zeros({}, dtype, logits.device());
  }
  ranks_.all_reduce(loss);
  sum_gradients();
  return loss;
}

void RankSums::sum(const std::vector<Tensor>& tensors) const {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    std::vector<Tensor> some;
    std::int64_t size = 0;
    for (const Tensor& tensor : tensors)
      if (tensor.dtype() == dtype) some.push_back(tensor), size += tensor.numel();
    if (size == 0) continue;
    // Copies: gradients of two parameters may share memory.
    const Tensor bucket = Tensor::empty({size}, dtype, some.front().device());
    const auto for_each = [&](auto&& copy) {
      std::int64_t at = 0;
      for (const Tensor& tensor : some) {
        copy(tensor, bucket.slice(at, at + tensor.numel()).reshape(tensor.shape()));
        at += tensor.numel();
      }
    };
    for_each([](const Tensor& tensor, const Tensor& part) { part.copy_from(tensor); });
    ranks_.all_reduce(bucket);
    for_each([](const Tensor& tensor, const Tensor& part) { tensor.copy_from(part); });
  }
}

void RankSums::sum_gradients(const Tensor& beside) {
  std::vector<Tensor> tensors;
  for (const Variable& parameter : parameters_)
    if (parameter.grad().defined()) tensors.push_back(parameter.grad());
  if (beside.defined()) tensors.push_back(beside);
  sum(tensors);
}

void RankSums::average(const std::vector<Tensor>& buffers, double share) const {
  for (const Tensor& buffer : buffers) buffer.copy_from(linear_combination(share, buffer, 0, buffer));
  sum(buffers);
}

std::uint64_t RankSums::first_stream() const {
  constexpr int kBits = 20;  // a step has fewer arrays of random numbers than 2^20
  return nodes_ ? 0 : static_cast<std::uint64_t>(ranks_.rank()) << kBits;
}

Tensor RankSums::metrics(const Tensor& logits) const {
  if (all_label_.defined())
    return classification_metrics(all_gather(*nodes_, logits), all_label_,
                                  {all_split_.train, all_split_.val, all_split_.test});
  const Tensor own = classification_metrics(logits, label_, {split_.train, split_.val, split_.test});
  const Tensor sum = mul(own, counts_);
  ranks_.all_reduce(sum);
  return sum;
}

std::vector<double> RankSums::finish(std::vector<double> sums) const {
  if (all_label_.defined() || !label_.defined()) return sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto count = static_cast<double>(std::max<std::int64_t>(1, total_[i / 2]));
    sums[i] = (i % 2 == 0 ? std::round(sums[i]) : sums[i]) / count;  // nodes that are right, and losses
  }
  return sums;
}

bool RankSums::any(bool own) {
  if (++calls_ < interval_) return false;
  // Clocks differ: the ranks agree on the longest interval.
  constexpr double kSeconds = 0.05, kMostCalls = 1000;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - asked_).count() / calls_;
  const double next = std::clamp(kSeconds / std::max(seconds, 1e-9), 1.0, kMostCalls);
  const Tensor asked = Tensor::from(std::vector<double>{own ? 1.0 : 0.0, std::floor(next)}, device_);
  ranks_.all_reduce(asked, Reduction::kMax);
  const std::vector<double> all = asked.to_vector<double>();
  interval_ = static_cast<int>(all[1]);
  calls_ = 0;
  asked_ = now;
  return all[0] > 0;
}

}  // namespace rodeo
