/// Losses and metrics of predicted numbers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

/// Errors of predictions, [rows, targets], of nodes or graphs against targets, of which NaN are missing.
///
/// The loss is the mean squared or absolute error (--loss) over the known targets of the training rows. The
/// metric of a set is R^2 = 1 - sum d^2 / sum (y - mean y)^2, summed over all targets, with the mean of each
/// target over the set; 0 where the targets do not vary. With --metric mse or mae it is the error with a
/// minus sign, so that more is better. Deterministic.
class TargetErrors {
 public:
  struct KnownTargets {
    Tensor at;            // i64 [k]: positions in the flat targets
    double variance = 0;  // mean squared distance from the mean of the set and target
  };

  /// y: f32 [rows, targets]; split: rows, on its device. `rows` and `array` name them in errors: "nodes",
  /// "/y". Throws Error for a set that has rows, but no target.
  TargetErrors(const Tensor& y, const Split& split, const TrainOptions& options, std::string_view rows,
               std::string_view array);

  Variable loss(const Variable& predicted) const;
  /// f64 [3, 2]: metric and loss of training, validation and test rows. Keeps the errors for details().
  Tensor evaluate(const Variable& predicted) const;
  /// R^2, MSE and MAE of the test rows at the last evaluation.
  std::vector<std::pair<std::string, double>> details() const;
  std::string title() const;  // "R^2"

 private:
  Tensor target_;  // f32 [rows * targets]
  std::array<KnownTargets, 3> sets_;
  RegressionLoss kind_;
  NodeMetric metric_;
  Tensor errors_;  // f64 [3, 2]: MSE and MAE of each set at the last evaluation
};

/// mse_loss or l1_loss of x at the positions `at`: x and y f32 [n], at i64 [k]. X: Tensor or Variable.
template <class X>
X target_error(RegressionLoss kind, const X& x, const Tensor& y, const Tensor& at);

/// Throw Error for options that are for classes where labels are numbers, and the other way round.
void check_regression_options(const TrainOptions& options);
void check_class_options(const TrainOptions& options);

/// Sets run.model.objective, details and run.task.metric for a task of nodes with targets, f32 [nodes,
/// targets]. Throws Error as above.
void add_regression_objective(NodeRun& run, const TrainOptions& options);

}  // namespace rodeo
