#include "train/task/criteria.h"

#include <array>
#include <cmath>

#include "ops/all_gather.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "train/classification.h"
#include "train/exchange.h"
#include "train/regression.h"
#include "train/task/counted.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

constexpr std::string_view kBalanced = "balanced";

/// What a criterion is of, and how errors call it.
struct LabelledSets {
  Tensor label;  // i64 [n], u8 [n, classes] or f32 [n, targets], on the device of the predictions
  Split sets;    // there too
  std::int64_t classes = 0;
  std::string_view examples = "nodes", array = "/y";
  ColumnScale scale = {};  // of labels that are numbers: target_scale()
};

/// The scale of the targets of the training set, on their device; undefined for classes.
ColumnScale target_scale(const LabelledSets& data) {
  if (data.label.dtype() != DType::kF32) return {};
  ColumnSums sums(data.label.dim(1));
  sums.add(gather_rows(data.label, data.sets.train));
  return sums.scale().to(data.label.device());
}

std::vector<double> parse_class_weights(const std::string& text) {
  return parse_option_numbers<double>("class-weights", text,
                                      "balanced, or numbers of at least 0, one for each class",
                                      [](double w) { return w >= 0 && std::isfinite(w); });
}

void check_options(DType label, const TrainOptions& options) {
  if (label != DType::kF32) {
    check(!is_regression(options.metric) && options.loss == RegressionLoss::kMse, "--metric ",
          name(options.metric), ", --loss ", name(options.loss),
          ": mse and mae are for labels that are numbers, and the labels of this dataset are classes");
    return;
  }
  check(
      options.metric == NodeMetric::kAccuracy || is_regression(options.metric), "--metric ",
      name(options.metric),
      " is for classes, and the labels of this dataset are numbers: use mse or mae, or leave it out for R^2");
  check(options.class_weights.empty() && options.label_smoothing == 0,
        "--class-weights and --label-smoothing are for classes, and the labels of this dataset are numbers");
}

/// Without the checks of data that a rank alone may fail.
std::shared_ptr<const Criterion> make_criterion(const LabelledSets& data, const TrainOptions& options,
                                                const std::vector<double>& class_weights, NodeMetric metric) {
  if (data.label.dtype() == DType::kF32)
    return std::make_shared<Regression>(
        data.label, data.sets,
        RegressionOptions{.loss = options.loss, .metric = metric, .scale = data.scale});
  return std::make_shared<Classification>(
      data.label, data.sets, data.classes,
      ClassificationOptions{
          .metric = metric, .class_weights = class_weights, .label_smoothing = options.label_smoothing});
}

void check_labels_are_known(const LabelledSets& data, const Criterion& criterion,
                            const std::vector<double>& class_weights) {
  check(class_weights.empty() || criterion.training_terms() > 0,
        "--class-weights: all classes of the training ", data.examples, " have weight 0");
  const bool numbers = data.label.dtype() == DType::kF32;
  const auto sets = data.sets.sets();
  for (std::size_t s = 0; s < (numbers ? 3 : 1); ++s)
    check(sets[s].numel() == 0 || criterion.terms(sets[s].to_vector<std::int64_t>()) > 0, "the ",
          kSetNames[s], " ", data.examples,
          numbers ? " have no target: all values of " : " have no label: all of ", data.array,
          numbers ? " are NaN there" : " is -1 there");
}

std::vector<double> class_weights(const LabelledSets& all, const TrainOptions& options) {
  if (options.class_weights.empty()) return {};
  check(all.label.rank() == 1,
        "--class-weights and --label-smoothing are for one label each, and this dataset has several");
  if (options.class_weights != kBalanced) return parse_class_weights(options.class_weights);
  return balanced_weights(all.label, all.sets.train, all.classes);
}

}  // namespace

void check_class_weights(const std::string& text) {
  if (text != kBalanced) parse_class_weights(text);
}

void set_criterion(NodeRun& run, const TrainOptions& options) {
  auto& [task, model] = run;
  LabelledSets own{task.label, task.split, task.num_classes};
  if (task.parts_of == "graphs") own.examples = "graphs", own.array = "/graph_y";
  const bool plain = task.label.dtype() == DType::kI64 && options.metric == NodeMetric::kAccuracy;
  LabelledSets all = own;
  if (task.partition && !(plain && options.class_weights.empty())) {
    all.label = all_gather(*task.partition, task.label);
    all.sets = split_of_all(*task.partition, task.split);
  }
  task.target_scale = own.scale = all.scale = target_scale(all);
  check_options(all.label.dtype(), options);
  const std::vector<double> weights = class_weights(all, options);
  std::shared_ptr<const Criterion> of_all = make_criterion(all, options, weights, options.metric);
  check_labels_are_known(all, *of_all, weights);
  // Ranks add up means over their nodes. For other metrics each has the predictions and labels of all nodes.
  TrainerParts& parts = model.parts;
  parts.metrics = task.partition && of_all->metrics_are_means()
                      ? make_criterion(own, options, weights, options.metric)
                      : std::move(of_all);
  parts.criterion = parts.metrics;
  if (options.prune_rows) {  // the model predicts the training nodes alone
    const Tensor none = Tensor::zeros({0}, DType::kI64, task.label.device());
    parts.criterion = make_criterion({take(task.label, task.split.train),
                                      {counted(task.split.train.numel(), task.label.device()), none, none},
                                      task.num_classes,
                                      own.examples,
                                      own.array,
                                      own.scale},
                                     options, weights, NodeMetric::kAccuracy);
  } else if (task.partition && !parts.metrics->metrics_are_means()) {
    parts.criterion = make_criterion(own, options, weights, NodeMetric::kAccuracy);
  }
  task.metric = parts.metrics->metric_name();
}

}  // namespace rodeo
