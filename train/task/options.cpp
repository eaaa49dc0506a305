#include "train/task/options.h"

#include "core/error.h"

namespace rodeo {

std::string_view name(FeatureForm form) {
  return form == FeatureForm::kAuto ? "auto" : form == FeatureForm::kDense ? "dense" : "sparse";
}

std::string_view name(FeaturesOn where) {
  constexpr std::string_view kNames[] = {"auto", "device", "host", "disk"};
  return kNames[static_cast<int>(where)];
}

std::string_view name(GraphOn where) {
  return where == GraphOn::kAuto ? "auto" : where == GraphOn::kDevice ? "device" : "host";
}

std::string_view name(TaskKind kind) {
  return kind == TaskKind::kNode ? "node" : kind == TaskKind::kLink ? "link" : "graph";
}

TaskKind parse_task(std::string_view text) {
  for (const TaskKind kind : {TaskKind::kNode, TaskKind::kLink, TaskKind::kGraph})
    if (name(kind) == text) return kind;
  fail("--task must be node, link or graph, got '", text, "'");
}

std::string_view name(LinkMetric metric) {
  constexpr std::string_view kNames[] = {"auc", "ap", "mrr", "hits"};
  return kNames[static_cast<int>(metric)];
}

LinkMetric parse_link_metric(std::string_view text) {
  for (const LinkMetric metric : {LinkMetric::kAuc, LinkMetric::kAp, LinkMetric::kMrr, LinkMetric::kHits})
    if (name(metric) == text) return metric;
  fail("--link-metric must be auc, ap, mrr or hits, got '", text, "'");
}

std::string_view name(NodeMetric metric) {
  constexpr std::string_view kNames[] = {"accuracy", "macro-f1", "roc-auc", "ap", "mse", "mae"};
  return kNames[static_cast<int>(metric)];
}

NodeMetric parse_node_metric(std::string_view text) {
  for (const NodeMetric metric : {NodeMetric::kAccuracy, NodeMetric::kMacroF1, NodeMetric::kRocAuc,
                                  NodeMetric::kAp, NodeMetric::kMse, NodeMetric::kMae})
    if (name(metric) == text) return metric;
  fail("--metric must be accuracy, macro-f1, roc-auc, ap, mse or mae, got '", text, "'");
}

NodeMetric parse_graph_metric(std::string_view text) {
  for (const NodeMetric metric : {NodeMetric::kAccuracy, NodeMetric::kMse, NodeMetric::kMae})
    if (name(metric) == text) return metric;
  fail("--metric of --task graph must be accuracy, mse or mae, got '", text, "'");
}

std::string_view name(RegressionLoss loss) {
  return loss == RegressionLoss::kMse ? "mse" : "mae";
}

RegressionLoss parse_regression_loss(std::string_view text) {
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae})
    if (name(loss) == text) return loss;
  fail("--loss must be mse or mae, got '", text, "'");
}

FeaturesOn parse_features_on(std::string_view text) {
  for (const FeaturesOn where :
       {FeaturesOn::kAuto, FeaturesOn::kDevice, FeaturesOn::kHost, FeaturesOn::kDisk})
    if (name(where) == text) return where;
  fail("--features-on must be auto, device, host or disk, got '", text, "'");
}

GraphOn parse_graph_on(std::string_view text) {
  for (const GraphOn where : {GraphOn::kAuto, GraphOn::kDevice, GraphOn::kHost})
    if (name(where) == text) return where;
  fail("--graph-on must be auto, device or host, got '", text, "'");
}

FeatureForm parse_feature_form(std::string_view text) {
  for (const FeatureForm form : {FeatureForm::kAuto, FeatureForm::kDense, FeatureForm::kSparse})
    if (name(form) == text) return form;
  fail("--features must be auto, dense or sparse, got '", text, "'");
}

}  // namespace rodeo
