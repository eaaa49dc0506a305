/// Losses and metrics of predicted numbers.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "train/column_scale.h"
#include "train/criterion.h"
#include "train/metric.h"

namespace rodeo {

struct RegressionOptions {
  RegressionLoss loss = RegressionLoss::kMse;
  NodeMetric metric = NodeMetric::kAccuracy;  // R^2; or kMse and kMae
  ColumnScale scale = {};  // predictions are of scaled targets: undo() makes them of the targets
};

/// Errors of predictions [examples, targets] against targets, of which NaN are missing.
///
/// The loss is the mean squared or absolute error over the known targets, scaled as options.scale says.
/// Metrics are of the targets themselves. The metric of a set is R^2 = 1 -
/// sum d^2 / sum (y - mean y)^2, summed over all targets, with the mean of each target over the set; 0 where
/// the targets do not vary. With kMse or kMae it is the error with a minus sign, so that more is better.
class Regression : public Criterion {
 public:
  /// y: f32 [examples, targets], on the device of the predictions; so is `sets`. Throws Error for a metric of
  /// classes.
  Regression(const Tensor& y, Split sets, const RegressionOptions& options = {});

  Variable loss(const Variable& predictions, const Examples& examples) const override;
  double terms(std::span<const std::int64_t> examples) const override;
  /// Keeps the errors for details().
  Tensor metrics(const Tensor& predictions) const override;
  std::string metric_name() const override;  // "R^2"
  /// R^2, MSE and MAE of the test set at the last metrics().
  std::vector<std::pair<std::string, double>> details() const override;
  const Split& sets() const override { return sets_; }
  bool is_fixed() const override { return !has_missing_; }

 private:
  struct KnownTargets {
    Tensor at;            // i64 [k]: positions in the flat targets
    double variance = 0;  // mean squared distance from the mean of the set and target
  };
  KnownTargets known_targets(const Tensor& set) const;
  bool is_known(std::int64_t example, std::int64_t target) const;

  Tensor y_, scaled_;  // targets, and what predictions are compared with
  Split sets_;
  RegressionOptions options_;
  RowNumbers row_numbers_;
  ExampleRows example_rows_;
  std::vector<float> host_;  // y
  bool has_missing_;
  std::array<KnownTargets, 3> known_;
  Tensor errors_;  // f64 [3, 2]: MSE and MAE of each set at the last metrics()
};

}  // namespace rodeo
