#include "train/regression.h"

#include <algorithm>
#include <cmath>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/regression_loss.h"

namespace rodeo {
namespace {

Variable flat(const Variable& predictions) {
  return cast(reshape(predictions, Shape{predictions.shape().numel()}), DType::kF32);
}

/// The mean error of x at the positions `at`: x and y f32 [n], at i64 [k]. X: Tensor or Variable.
template <class X>
X error(RegressionLoss kind, const X& x, const Tensor& y, const Tensor& at) {
  return kind == RegressionLoss::kMse ? mse_loss(x, y, at) : l1_loss(x, y, at);
}

}  // namespace

Regression::Regression(const Tensor& y, Split sets, const RegressionOptions& options)
    : y_(y),
      scaled_(options.scale.apply(y)),
      sets_(std::move(sets)),
      options_(options),
      row_numbers_(y.device()),
      example_rows_(sets_.train),
      host_(y.to_vector<float>()),
      has_missing_(std::any_of(host_.begin(), host_.end(), [](float value) { return std::isnan(value); })),
      errors_(Tensor::zeros({3, 2}, DType::kF64, y.device())) {
  check(options.metric == NodeMetric::kAccuracy || is_regression(options.metric), "[regression] the metric ",
        name(options.metric), " is for classes, and the targets are numbers");
  for (std::size_t s = 0; s < 3; ++s) known_[s] = known_targets(sets_.sets()[s]);
}

bool Regression::is_known(std::int64_t example, std::int64_t target) const {
  return !std::isnan(host_[static_cast<std::size_t>(example * y_.dim(1) + target)]);
}

Regression::KnownTargets Regression::known_targets(const Tensor& set) const {
  const std::int64_t targets = y_.dim(1);
  std::vector<std::int64_t> at;
  double squares = 0;
  const std::vector<std::int64_t> examples = set.to_vector<std::int64_t>();
  for (std::int64_t j = 0; j < targets; ++j) {
    double sum = 0;
    const std::size_t first = at.size();
    for (const std::int64_t example : examples) {
      if (!is_known(example, j)) continue;
      at.push_back(example * targets + j);
      sum += static_cast<double>(host_[static_cast<std::size_t>(at.back())]);
    }
    const double mean = sum / static_cast<double>(at.size() - first);
    for (std::size_t k = first; k < at.size(); ++k) {
      const double d = static_cast<double>(host_[static_cast<std::size_t>(at[k])]) - mean;
      squares += d * d;
    }
  }
  const double count = static_cast<double>(at.size());
  return {Tensor::from(at, y_.device()), at.empty() ? 0 : squares / count};
}

Variable Regression::loss(const Variable& predictions, const Examples& examples) const {
  Tensor y = scaled_, at = known_[0].at;
  Variable x = predictions;
  if (examples.ids.defined()) {
    x = example_rows_(predictions, examples);
    y = take(scaled_, examples.ids);
    at = row_numbers_(y.numel());
    if (has_missing_) {
      std::vector<std::int64_t> known;
      for (std::size_t i = 0; i < examples.host.size(); ++i)
        for (std::int64_t j = 0; j < y.dim(1); ++j)
          if (is_known(examples.host[i], j)) known.push_back(static_cast<std::int64_t>(i) * y.dim(1) + j);
      at = Tensor::from(known, y_.device());
    }
  }
  if (at.numel() == 0) return no_loss(predictions);
  return error(options_.loss, flat(x), y.reshape({y.numel()}), at);
}

double Regression::terms(std::span<const std::int64_t> examples) const {
  if (!has_missing_) return static_cast<double>(std::ssize(examples) * y_.dim(1));
  double known = 0;
  for (const std::int64_t example : examples)
    for (std::int64_t j = 0; j < y_.dim(1); ++j)
      if (is_known(example, j)) ++known;
  return known;
}

Tensor Regression::metrics(const Tensor& predictions) const {
  const Tensor scaled = predictions.to(DType::kF32), y = y_.reshape({y_.numel()}),
               x = options_.scale.undo(scaled).reshape({y_.numel()}),
               out = Tensor::zeros({3, 2}, DType::kF64, x.device());
  errors_.fill(0);
  for (std::int64_t s = 0; s < 3; ++s) {
    const auto& [at, variance] = known_[static_cast<std::size_t>(s)];
    if (at.numel() == 0) continue;
    const Tensor found = errors_.slice(s, s + 1).reshape({2}), row = out.slice(s, s + 1).reshape({2});
    const auto part = [](const Tensor& of, std::int64_t i) { return of.slice(i, i + 1); };
    for (const RegressionLoss of : {RegressionLoss::kMse, RegressionLoss::kMae})
      part(found, static_cast<std::int64_t>(of)).copy_from(error(of, x, y, at).reshape({1}).to(DType::kF64));
    const Tensor mse = part(found, 0), mae = part(found, 1),
                 one = Tensor::full({1}, 1, DType::kF64, x.device());
    if (is_regression(options_.metric))
      part(row, 0).copy_from(linear_combination(-1, options_.metric == NodeMetric::kMse ? mse : mae, 0, one));
    else if (variance > 0)
      part(row, 0).copy_from(linear_combination(-1 / variance, mse, 1, one));
    part(row, 1).copy_from(options_.scale.defined() ? error(options_.loss, scaled.reshape({y_.numel()}),
                                                            scaled_.reshape({y_.numel()}), at)
                                                          .reshape({1})
                                                          .to(DType::kF64)
                           : options_.loss == RegressionLoss::kMse ? mse
                                                                   : mae);
  }
  return out;
}

std::vector<std::pair<std::string, double>> Regression::details() const {
  const std::vector<double> found = errors_.to_vector<double>();
  const double mse = found[4], variance = known_[2].variance;
  return {{"r2", variance > 0 ? 1 - mse / variance : 0}, {"mse", mse}, {"mae", found[5]}};
}

std::string Regression::metric_name() const {
  return options_.metric == NodeMetric::kMse ? "-MSE" : options_.metric == NodeMetric::kMae ? "-MAE" : "R^2";
}

}  // namespace rodeo
