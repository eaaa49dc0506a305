/// What decides the best epoch, and the losses of numbers, by name.
#pragma once

#include "core/enum_names.h"

namespace rodeo {

/// Metrics of the classification and regression of nodes and graphs. kAccuracy is the default: micro-F1 with
/// several labels per node, R^2 of numbers.
enum class NodeMetric { kAccuracy, kMacroF1, kRocAuc, kAp, kMse, kMae };
template <>
inline constexpr auto kEnumNames<NodeMetric> = enum_names<NodeMetric>({{NodeMetric::kAccuracy, "accuracy"},
                                                                       {NodeMetric::kMacroF1, "macro-f1"},
                                                                       {NodeMetric::kRocAuc, "roc-auc"},
                                                                       {NodeMetric::kAp, "ap"},
                                                                       {NodeMetric::kMse, "mse"},
                                                                       {NodeMetric::kMae, "mae"}});
constexpr bool is_regression(NodeMetric metric) {
  return metric == NodeMetric::kMse || metric == NodeMetric::kMae;
}

/// Loss of regression.
enum class RegressionLoss { kMse, kMae };
template <>
inline constexpr auto kEnumNames<RegressionLoss> =
    enum_names<RegressionLoss>({{RegressionLoss::kMse, "mse"}, {RegressionLoss::kMae, "mae"}});

}  // namespace rodeo
