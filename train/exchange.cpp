#include "train/exchange.h"

#include <algorithm>
#include <cmath>

#include "core/over_ranks.h"
#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/pointwise.h"

namespace rodeo {
namespace {

/// The ids of one set of all ranks, numbered over all nodes.
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

std::uint64_t Exchange::first_stream() const {
  constexpr int kBits = 20;  // a step has fewer arrays of random numbers than 2^20
  return static_cast<std::uint64_t>(ranks_.rank()) << kBits;
}

double Exchange::sum(double value, Device device) const {
  return is_one_rank() ? value : over_ranks(ranks_, std::vector{value}, Reduction::kSum, device)[0];
}

void Exchange::sum(const std::vector<Tensor>& tensors) const {
  if (is_one_rank()) return;
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

void Exchange::sum(const std::vector<std::shared_ptr<RowReads>>& reads) const {
  if (is_one_rank()) return;
  for (const std::shared_ptr<RowReads>& each : reads) {
    const Tensor& table = each->table().value();
    RowGradient own = each->gradient();
    if (!own.g.defined())
      own = {Tensor::empty({0}, DType::kI64, table.device()),
             Tensor::empty({0, table.dim(1)}, table.dtype(), table.device())};
    const Tensor count = Tensor::from(std::vector{own.rows.numel()}, table.device());
    const std::vector<std::int64_t> counts = ranks_.all_gather(count).to_vector<std::int64_t>();
    each->set_gradient(
        sum_by_row(ranks_.all_gather(own.rows, counts), ranks_.all_gather(own.g, counts), table.dim(0)));
  }
}

void Exchange::average(const std::vector<Tensor>& buffers, double fraction) const {
  if (is_one_rank()) return;
  for (const Tensor& buffer : buffers) buffer.copy_from(linear_combination(fraction, buffer, 0, buffer));
  sum(buffers);
}

bool Exchange::any(bool own, Device device) {
  if (is_one_rank()) return own;
  if (++calls_ < interval_) return false;
  // Clocks differ: the ranks agree on the longest interval.
  constexpr double kSeconds = 0.05, kMostCalls = 1000;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - asked_).count() / calls_;
  const double next = std::clamp(kSeconds / std::max(seconds, 1e-9), 1.0, kMostCalls);
  const std::vector<double> all =
      over_ranks(ranks_, std::vector{own ? 1.0 : 0.0, std::floor(next)}, Reduction::kMax, device);
  interval_ = static_cast<int>(all[1]);
  calls_ = 0;
  asked_ = now;
  return all[0] > 0;
}

MetricsOverRanks::MetricsOverRanks(const Exchange& exchange, const Split& sets, Device device) {
  const auto own = sets.sizes();
  sizes_ = over_ranks(exchange.ranks(), std::vector(own.begin(), own.end()), Reduction::kSum, device);
  std::vector<double> counts;
  for (const std::int64_t count : own) counts.insert(counts.end(), 2, static_cast<double>(count));
  counts_ = Tensor::from(counts, {3, 2}, device);
}

Tensor MetricsOverRanks::sums(const Exchange& exchange, const Tensor& metrics) const {
  const Tensor sum = mul(metrics, counts_);
  exchange.ranks().all_reduce(sum);
  return sum;
}

std::vector<double> MetricsOverRanks::means(std::vector<double> sums) const {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto count = static_cast<double>(std::max<std::int64_t>(1, sizes_[i / 2]));
    sums[i] = (i % 2 == 0 ? std::round(sums[i]) : sums[i]) / count;  // right nodes, and losses
  }
  return sums;
}

}  // namespace rodeo
