#include "train/task/regression_objective.h"

#include <array>
#include <cmath>
#include <memory>

#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/regression_loss.h"
#include "train/task/whole_task.h"

namespace rodeo {
namespace {

constexpr std::array<const char*, 3> kSets = {"training", "validation", "test"};

TargetErrors::KnownTargets known_targets(const std::vector<float>& y, std::int64_t targets,
                                         const Tensor& set) {
  std::vector<std::int64_t> at;
  double squares = 0;
  const std::vector<std::int64_t> nodes = set.to_vector<std::int64_t>();
  for (std::int64_t j = 0; j < targets; ++j) {
    double sum = 0;
    const std::size_t first = at.size();
    for (const std::int64_t node : nodes) {
      const std::int64_t i = node * targets + j;
      if (std::isnan(y[static_cast<std::size_t>(i)])) continue;
      at.push_back(i);
      sum += static_cast<double>(y[static_cast<std::size_t>(i)]);
    }
    const double mean = sum / static_cast<double>(at.size() - first);
    for (std::size_t k = first; k < at.size(); ++k) {
      const double d = static_cast<double>(y[static_cast<std::size_t>(at[k])]) - mean;
      squares += d * d;
    }
  }
  const double count = static_cast<double>(at.size());
  return {Tensor::from(at), at.empty() ? 0 : squares / count};
}

Variable flat(const Variable& predicted) {
  return cast(reshape(predicted, {predicted.shape().numel()}), DType::kF32);
}

}  // namespace

template <class X>
X target_error(RegressionLoss kind, const X& x, const Tensor& y, const Tensor& at) {
  return kind == RegressionLoss::kMse ? mse_loss(x, y, at) : l1_loss(x, y, at);
}
template Tensor target_error(RegressionLoss, const Tensor&, const Tensor&, const Tensor&);
template Variable target_error(RegressionLoss, const Variable&, const Tensor&, const Tensor&);

TargetErrors::TargetErrors(const Tensor& y, const Split& split, const TrainOptions& options,
                           std::string_view rows, std::string_view array)
    : kind_(options.loss), metric_(options.metric) {
  const std::vector<float> value = y.to_vector<float>();
  const Tensor* splits[] = {&split.train, &split.val, &split.test};
  for (std::size_t s = 0; s < 3; ++s) {
    KnownTargets& set = sets_[s];
    set = known_targets(value, y.dim(1), *splits[s]);
    check(set.at.numel() > 0 || splits[s]->numel() == 0, "the ", kSets[s], " ", rows,
          " have no target: all values of ", array, " are NaN there");
    set.at = set.at.to(y.device());
  }
  target_ = y.reshape({y.numel()});
  errors_ = Tensor::zeros({3, 2}, DType::kF64, y.device());
}

Variable TargetErrors::loss(const Variable& predicted) const {
  return target_error(kind_, flat(predicted), target_, sets_[0].at);
}

Tensor TargetErrors::evaluate(const Variable& predicted) const {
  const Tensor y = flat(predicted).value(), out = Tensor::zeros({3, 2}, DType::kF64, y.device());
  errors_.fill(0);
  for (std::int64_t s = 0; s < 3; ++s) {
    const auto& [at, variance] = sets_[static_cast<std::size_t>(s)];
    if (at.numel() == 0) continue;
    const Tensor found = errors_.slice(s, s + 1).reshape({2}), row = out.slice(s, s + 1).reshape({2});
    const auto part = [](const Tensor& of, std::int64_t i) { return of.slice(i, i + 1); };
    for (const RegressionLoss of : {RegressionLoss::kMse, RegressionLoss::kMae})
      part(found, static_cast<std::int64_t>(of))
          .copy_from(target_error(of, y, target_, at).reshape({1}).to(DType::kF64));
    const Tensor mse = part(found, 0), mae = part(found, 1),
                 one = Tensor::full({1}, 1, DType::kF64, y.device());
    if (is_regression(metric_))
      part(row, 0).copy_from(linear_combination(-1, metric_ == NodeMetric::kMse ? mse : mae, 0, one));
    else if (variance > 0)
      part(row, 0).copy_from(linear_combination(-1 / variance, mse, 1, one));
    part(row, 1).copy_from(kind_ == RegressionLoss::kMse ? mse : mae);
  }
  return out;
}

std::vector<std::pair<std::string, double>> TargetErrors::details() const {
  const std::vector<double> found = errors_.to_vector<double>();
  const double mse = found[4], variance = sets_[2].variance;
  return {{"r2", variance > 0 ? 1 - mse / variance : 0}, {"mse", mse}, {"mae", found[5]}};
}

std::string TargetErrors::title() const {
  return metric_ == NodeMetric::kMse ? "-MSE" : metric_ == NodeMetric::kMae ? "-MAE" : "R^2";
}

void check_regression_options(const TrainOptions& options) {
  const NodeMetric metric = options.metric;
  check(
      metric == NodeMetric::kAccuracy || is_regression(metric), "--metric ", name(metric),
      " is for classes, and the labels of this dataset are numbers: use mse or mae, or leave it out for R^2");
  check(options.class_weights.empty() && options.label_smoothing == 0,
        "--class-weights and --label-smoothing are for classes, and the labels of this dataset are numbers");
  check(options.batch == 0 && !options.prune_rows,
        "--batch and --prune-rows are for classes, and the labels of this dataset are numbers");
}

void check_class_options(const TrainOptions& options) {
  check(!is_regression(options.metric) && options.loss == RegressionLoss::kMse, "--metric ",
        name(options.metric), ", --loss ", name(options.loss),
        ": mse and mae are for labels that are numbers, and the labels of this dataset are classes");
}

void add_regression_objective(NodeRun& run, const TrainOptions& options) {
  auto& [task, model] = run;
  check_regression_options(options);
  const NodeTask whole = of_all_ranks(task);
  const auto errors = std::make_shared<const TargetErrors>(whole.label, whole.split, options, "nodes", "/y");
  const std::function<Variable()> forward = of_all_ranks(task, model.forward);
  model.objective = {[=] { return errors->loss(forward()); }, [=] { return errors->evaluate(forward()); }};
  model.details = [=] { return errors->details(); };
  task.metric = errors->title();
}

}  // namespace rodeo
