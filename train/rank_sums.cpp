#include "train/rank_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/all_gather.h"
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

RankSums::RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters,
                   Device device)
    : nodes_(std::move(nodes)), parameters_(std::move(parameters)), device_(device) {}

RankSums::RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters, Tensor label,
                   Split split)
    : nodes_(std::move(nodes)),
      parameters_(std::move(parameters)),
      device_(label.device()),
      label_(std::move(label)),
      split_(std::move(split)) {
  const Device device = device_;
  const std::vector<std::int64_t> own{split_.train.numel(), split_.val.numel(), split_.test.numel()};
  const Tensor total = Tensor::from(own, device);
  nodes_->ranks().all_reduce(total);
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
  Tensor loss;
  if (split_.train.numel() > 0) {
    const Variable mean = classification_loss(logits, label_, split_.train);
    if (!loss_share_.defined())
      loss_share_ =
          Tensor::full({}, static_cast<double>(split_.train.numel()) / static_cast<double>(num_train()),
                       mean.dtype(), mean.device());
    mean.backward(loss_share_);
    loss = mul(mean.value(), loss_share_);
  } else {  // takes part in the exchange of the other ranks
    logits.backward(Tensor::zeros(logits.shape(), logits.dtype(), logits.device()));
    const DType dtype = logits.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    loss = Tensor::zeros({}, dtype, logits.device());
  }
  nodes_->ranks().all_reduce(loss);
  sum_gradients();
  return loss;
}

void RankSums::sum_gradients() {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    std::vector<Tensor> gradients;
    std::int64_t size = 0;
    for (const Variable& parameter : parameters_)
      if (parameter.grad().defined() && parameter.grad().dtype() == dtype) {
        gradients.push_back(parameter.grad());
        size += gradients.back().numel();
      }
    if (size == 0) continue;
    // Copies: gradients of two parameters may share memory.
    const Tensor bucket = Tensor::empty({size}, dtype, gradients.front().device());
    const auto for_each = [&](auto&& copy) {
      std::int64_t at = 0;
      for (const Tensor& gradient : gradients) {
        copy(gradient, bucket.slice(at, at + gradient.numel()).reshape(gradient.shape()));
        at += gradient.numel();
      }
    };
    for_each([](const Tensor& gradient, const Tensor& part) { part.copy_from(gradient); });
    nodes_->ranks().all_reduce(bucket);
    for_each([](const Tensor& gradient, const Tensor& part) { gradient.copy_from(part); });
  }
}

Tensor RankSums::metrics(const Tensor& logits) const {
  if (all_label_.defined())
    return classification_metrics(all_gather(*nodes_, logits), all_label_,
                                  {all_split_.train, all_split_.val, all_split_.test});
  const Tensor own = classification_metrics(logits, label_, {split_.train, split_.val, split_.test});
  const Tensor sum = mul(own, counts_);
  nodes_->ranks().all_reduce(sum);
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
  nodes_->ranks().all_reduce(asked, Reduction::kMax);
  const std::vector<double> all = asked.to_vector<double>();
  interval_ = static_cast<int>(all[1]);
  calls_ = 0;
  asked_ = now;
  return all[0] > 0;
}

}  // namespace rodeo
