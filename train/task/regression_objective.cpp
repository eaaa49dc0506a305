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

/// The targets of a set of nodes that are known.
struct KnownTargets {
  Tensor at;            // i64 [k]: positions in the flat targets
  double variance = 0;  // mean squared distance from the mean of the set and target
};

KnownTargets known_targets(const std::vector<float>& y, std::int64_t targets, const Tensor& set) {
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

/// What the functions of the objective share.
struct RegressionObjective {
  std::function<Variable()> forward;
  Tensor target;  // f32 [nodes * targets]
  std::array<KnownTargets, 3> sets;
  RegressionLoss kind = RegressionLoss::kMse;
  NodeMetric metric = NodeMetric::kAccuracy;
  Tensor errors;  // f64 [3, 2]: MSE and MAE of each set at the last evaluation

  Variable predicted() const { return cast(reshape(forward(), {target.numel()}), DType::kF32); }

  template <class X>
  X error(RegressionLoss of, const X& x, const Tensor& at) const {
    return of == RegressionLoss::kMse ? mse_loss(x, target, at) : l1_loss(x, target, at);
  }

  Variable loss() const { return error(kind, predicted(), sets[0].at); }

  /// f64 [3, 2]
  Tensor evaluate() {
    const Tensor y = predicted().value(), out = Tensor::zeros({3, 2}, DType::kF64, y.device());
    errors.fill(0);
    for (std::int64_t s = 0; s < 3; ++s) {
      const auto& [at, variance] = sets[static_cast<std::size_t>(s)];
      if (at.numel() == 0) continue;
      const Tensor found = errors.slice(s, s + 1).reshape({2}), row = out.slice(s, s + 1).reshape({2});
      const auto part = [](const Tensor& of, std::int64_t i) { return of.slice(i, i + 1); };
      const auto set_error = [&](RegressionLoss of) {
        const Tensor e = error(of, y, at).reshape({1}).to(DType::kF64);
        part(found, static_cast<std::int64_t>(of)).copy_from(e);
      };
      set_error(RegressionLoss::kMse);
      set_error(RegressionLoss::kMae);
      const Tensor mse = part(found, 0), mae = part(found, 1),
                   one = Tensor::full({1}, 1, DType::kF64, y.device());
      if (metric == NodeMetric::kMse || metric == NodeMetric::kMae)
        part(row, 0).copy_from(linear_combination(-1, metric == NodeMetric::kMse ? mse : mae, 0, one));
      else if (variance > 0)
        part(row, 0).copy_from(linear_combination(-1 / variance, mse, 1, one));
      part(row, 1).copy_from(kind == RegressionLoss::kMse ? mse : mae);
    }
    return out;
  }

  std::vector<std::pair<std::string, double>> details() const {
    const std::vector<double> found = errors.to_vector<double>();
    const double mse = found[4], variance = sets[2].variance;
    return {{"r2", variance > 0 ? 1 - mse / variance : 0}, {"mse", mse}, {"mae", found[5]}};
  }
};

}  // namespace

void add_regression_objective(NodeRun& run, const TrainOptions& options) {
  auto& [task, model] = run;
  const NodeMetric metric = options.metric;
  check(
      metric == NodeMetric::kAccuracy || is_regression(metric), "--metric ", name(metric),
      " is for classes, and the labels of this dataset are numbers: use mse or mae, or leave it out for R^2");
  check(options.class_weights.empty() && options.label_smoothing == 0,
        "--class-weights and --label-smoothing are for classes, and the labels of this dataset are numbers");
  check(options.batch == 0 && !options.prune_rows,
        "--batch and --prune-rows are for classes, and the labels of this dataset are numbers");
  const NodeTask whole = of_all_ranks(task);
  auto shared = std::make_shared<RegressionObjective>();
  shared->forward = of_all_ranks(task, model.forward);
  shared->kind = options.loss;
  shared->metric = metric;
  const std::vector<float> y = whole.label.to_vector<float>();
  const Tensor* splits[] = {&whole.split.train, &whole.split.val, &whole.split.test};
  for (std::size_t s = 0; s < 3; ++s) {
    KnownTargets& set = shared->sets[s];
    set = known_targets(y, task.num_classes, *splits[s]);
    check(set.at.numel() > 0 || splits[s]->numel() == 0, "the ", kSets[s],
          " nodes have no target: all values of /y are NaN there");
    set.at = set.at.to(task.label.device());
  }
  shared->target = whole.label.reshape({whole.label.numel()});
  shared->errors = Tensor::zeros({3, 2}, DType::kF64, task.label.device());
  model.objective = {[shared] { return shared->loss(); }, [shared] { return shared->evaluate(); }};
  model.details = [shared] { return shared->details(); };
  task.metric = metric == NodeMetric::kMse ? "-MSE" : metric == NodeMetric::kMae ? "-MAE" : "R^2";
}

}  // namespace rodeo
