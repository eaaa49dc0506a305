#include "train/column_scale.h"

#include <algorithm>
#include <cmath>

#include "core/over_ranks.h"
#include "ops/norm.h"

namespace rodeo {
namespace {

/// Relative to the squared mean: below it a variance is the rounding of f32 values.
constexpr double kNoVariance = 1e-12;

/// weight (x - shift) + bias
Tensor affine(const Tensor& x, const Tensor& shift, const Tensor& weight, const Tensor& bias) {
  const NoGrad no_grad;
  const RunningStats stats{shift, Tensor::full(shift.shape(), 1, DType::kF32, x.device())};
  return batch_norm(Variable(x), Variable(weight), Variable(bias), stats, {.eps = 0, .training = false})
      .value();
}

}  // namespace

ColumnScale::ColumnScale(const std::vector<float>& mean, const std::vector<float>& deviation)
    : mean_(Tensor::from(mean)), deviation_(Tensor::from(deviation)) {
  std::vector<float> inverse;
  for (const float d : deviation) inverse.push_back(1 / d);
  inverse_ = Tensor::from(inverse);
}

ColumnScale ColumnScale::of_rank(int rank, const Communicator& ranks) const {
  ColumnScale out;
  for (auto part : {&ColumnScale::mean_, &ColumnScale::deviation_, &ColumnScale::inverse_}) {
    out.*part = (this->*part).clone();
    ranks.broadcast(out.*part, rank);
  }
  return out;
}

ColumnScale ColumnScale::to(Device device) const {
  ColumnScale out = *this;
  if (defined())
    for (Tensor* t : {&out.mean_, &out.deviation_, &out.inverse_}) *t = t->to(device);
  return out;
}

Tensor ColumnScale::apply(const Tensor& x) const {
  return defined() ? affine(x, mean_, inverse_, Tensor::zeros(mean_.shape(), DType::kF32, x.device())) : x;
}

Tensor ColumnScale::undo(const Tensor& x) const {
  return defined() ? affine(x, Tensor::zeros(mean_.shape(), DType::kF32, x.device()), deviation_, mean_) : x;
}

ColumnSums::ColumnSums(std::int64_t columns)
    : count_(static_cast<std::size_t>(columns)), sum_(count_), squares_(count_) {}

void ColumnSums::add(const Tensor& rows) {
  const Tensor host = rows.to(kCpu);
  const std::size_t columns = count_.size();
  for (std::int64_t i = 0; i < host.dim(0); ++i) {
    const float* row = host.data<float>() + i * host.dim(1);
    for (std::size_t j = 0; j < columns; ++j) {
      const bool known = !std::isnan(row[j]);
      const double value = known ? static_cast<double>(row[j]) : 0;
      count_[j] += known ? 1 : 0;
      sum_[j] += value;
      squares_[j] += value * value;
    }
  }
}

void ColumnSums::add_ranks(const Communicator& ranks) {
  for (std::vector<double>* own : {&count_, &sum_, &squares_}) *own = over_ranks(ranks, *own);
}

ColumnScale ColumnSums::scale() const {
  std::vector<float> means, deviations;
  for (std::size_t j = 0; j < count_.size(); ++j) {
    const double n = std::max(count_[j], 1.0), mean = sum_[j] / n, variance = squares_[j] / n - mean * mean;
    const auto deviation = static_cast<float>(std::sqrt(std::max(variance, 0.0)));
    const bool varies = variance > kNoVariance * mean * mean && std::isnormal(1 / deviation);
    means.push_back(static_cast<float>(mean));
    deviations.push_back(varies ? deviation : 1.0F);
  }
  return {means, deviations};
}

}  // namespace rodeo
