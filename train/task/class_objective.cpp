#include "train/task/class_objective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/macro_f1.h"
#include "ops/ranking.h"
#include "ops/soft_cross_entropy.h"
#include "train/objective.h"
#include "train/task/option_value.h"
#include "train/task/regression_objective.h"
#include "train/task/whole_task.h"

namespace rodeo {
namespace {

constexpr std::string_view kBalanced = "balanced";

/// Places of the scores of one class in the flat scores of all nodes: i64 [p] and [q].
struct ClassRanking {
  std::int64_t column = 0;
  Tensor positive, negative;
};
using SetRankings = std::vector<ClassRanking>;

std::vector<double> parse_class_weights(std::string_view text) {
  std::vector<double> weights;
  while (true) {
    const std::size_t comma = text.find(',');
    weights.push_back(parse_option_number<double>("class-weights", std::string(text.substr(0, comma)),
                                                  "balanced, or numbers of at least 0, one for each class",
                                                  [](double w) { return w >= 0 && std::isfinite(w); }));
    if (comma == text.npos) return weights;
    text.remove_prefix(comma + 1);
  }
}

/// Training nodes / (classes x training nodes of the class); 0 for a class without any.
std::vector<double> balanced_weights(const NodeTask& task) {
  std::vector<double> count(static_cast<std::size_t>(task.num_classes));
  const auto labels = take(task.label, task.split.train).to_vector<std::int64_t>();
  for (const std::int64_t label : labels) ++count[static_cast<std::size_t>(label)];
  for (double& of : count)
    if (of > 0) of = static_cast<double>(labels.size()) / (static_cast<double>(task.num_classes) * of);
  return count;
}

/// The classes of a set of nodes that have positives and negatives there.
SetRankings rankings(const NodeTask& task, const Tensor& set) {
  const std::int64_t classes = task.num_classes;
  const bool multi_label = task.label.rank() == 2;
  const std::vector<std::int64_t> nodes = set.to_vector<std::int64_t>();
  std::vector<std::int64_t> label;
  std::vector<std::uint8_t> labels;
  if (multi_label)
    labels = task.label.to_vector<std::uint8_t>();
  else
    label = task.label.to_vector<std::int64_t>();
  SetRankings out;
  for (std::int64_t c = !multi_label && classes == 2 ? 1 : 0; c < classes; ++c) {
    std::vector<std::int64_t> positive, negative;
    for (const std::int64_t node : nodes) {
      const std::size_t at = static_cast<std::size_t>(multi_label ? node * classes + c : node);
      if (multi_label && labels[at] == Dataset::kMissingLabel) continue;
      const bool is = multi_label ? labels[at] != 0 : label[at] == c;
      (is ? positive : negative).push_back(node);
    }
    if (positive.empty() || negative.empty()) continue;
    const Device device = task.x.device();
    out.push_back({c, Tensor::from(positive, device), Tensor::from(negative, device)});
  }
  return out;
}

/// The known labels of a set of nodes: places in the flat labels of all nodes, i64 [k].
Tensor known_labels(const Tensor& label, const Tensor& set) {
  const std::int64_t classes = label.dim(1);
  const std::vector<std::uint8_t> labels = label.to_vector<std::uint8_t>();
  std::vector<std::int64_t> at;
  for (const std::int64_t node : set.to_vector<std::int64_t>())
    for (std::int64_t i = node * classes; i < (node + 1) * classes; ++i)
      if (labels[static_cast<std::size_t>(i)] != Dataset::kMissingLabel) at.push_back(i);
  return Tensor::from(at, label.device());
}

bool has_missing_labels(const Tensor& label) {
  if (label.dtype() != DType::kU8) return false;
  const std::vector<std::uint8_t> labels = label.to_vector<std::uint8_t>();
  return std::find(labels.begin(), labels.end(), Dataset::kMissingLabel) != labels.end();
}

/// What the functions of the objective share.
struct ClassObjective {
  std::function<Variable()> forward;
  std::vector<Tensor> known;  // known_labels() of the three sets where labels are missing; else empty
  Tensor label, target;       // target: of soft_cross_entropy; undefined: cross entropy
  Split split;
  NodeMetric metric = NodeMetric::kAccuracy;
  std::array<SetRankings, 3> sets;

  Tensor flat_label() const { return label.reshape({label.numel(), 1}); }

  Variable loss() const {
    const Variable logits = forward();
    if (!known.empty()) return bce_with_logits(reshape(logits, flat_label().shape()), flat_label(), known[0]);
    return target.defined() ? soft_cross_entropy(logits, target)
                            : classification_loss(logits, label, split.train);
  }

  /// Scores [nodes] of a class: the difference of two logits, the logit of a label, or a log-probability.
  Tensor scores(const Tensor& logits, std::int64_t column) const {
    const std::int64_t nodes = logits.dim(0);
    const auto part = [&](const Tensor& of, std::int64_t j) {
      return columns(of, j, j + 1).reshape({nodes});
    };
    if (label.rank() == 2) return part(logits, column);
    if (logits.dim(1) == 2) return linear_combination(1, part(logits, 1), -1, part(logits, 0));
    return part(log_softmax(logits), column);
  }

  /// f64 [1]
  Tensor ranking(const Tensor& logits, const SetRankings& set) const {
    const int column = metric == NodeMetric::kRocAuc ? kRankingAuc : kRankingAp;
    const double share = 1 / static_cast<double>(set.size());
    Tensor mean;
    for (const ClassRanking& of : set) {
      const Tensor all = scores(logits, of.column);
      const Tensor one =
          ranking_metrics(take(all, of.positive), take(all, of.negative)).slice(column, column + 1);
      mean =
          mean.defined() ? linear_combination(1, mean, share, one) : linear_combination(share, one, 0, one);
    }
    return mean;
  }

  Tensor evaluate() const {
    Tensor logits = forward().value();
    const std::vector<Tensor> nodes{split.train, split.val, split.test};
    const Tensor out =
        (known.empty() ? classification_metrics(logits, label, nodes)
                       : label_metrics(logits.reshape(flat_label().shape()), flat_label(), known))
            .reshape({6});
    if (metric == NodeMetric::kAccuracy) return out.reshape({3, 2});
    if (metric == NodeMetric::kMacroF1) {
      const Tensor f1 = macro_f1(logits, label, nodes);
      for (int s = 0; s < 3; ++s) out.slice(2 * s, 2 * s + 1).copy_from(f1.slice(s, s + 1));
      return out.reshape({3, 2});
    }
    logits = logits.to(DType::kF32);
    for (int s = 0; s < 3; ++s)
      if (!sets[static_cast<std::size_t>(s)].empty())
        out.slice(2 * s, 2 * s + 1).copy_from(ranking(logits, sets[static_cast<std::size_t>(s)]));
    return out.reshape({3, 2});
  }
};

std::string title(NodeMetric metric) {
  constexpr const char* kTitles[] = {"", "macro-F1", "ROC-AUC", "average precision"};
  return kTitles[static_cast<int>(metric)];
}

}  // namespace

void check_class_weights(std::string_view text) {
  if (text != kBalanced) parse_class_weights(text);
}

void add_class_objective(NodeRun& run, const TrainOptions& options) {
  if (run.task.label.dtype() == DType::kF32) return add_regression_objective(run, options);
  auto& [task, model] = run;
  check_class_options(options);
  const bool soft = !options.class_weights.empty() || options.label_smoothing > 0;
  const bool plain = !soft && options.metric == NodeMetric::kAccuracy;
  if (plain && task.label.dtype() != DType::kU8) return;
  const NodeTask whole = of_all_ranks(task);
  const bool missing = has_missing_labels(whole.label);
  if (plain && !missing) return;
  const bool multi_label = task.label.rank() == 2;
  check(!missing || (options.batch == 0 && !options.prune_rows),
        "--batch and --prune-rows need all labels, and /y has missing ones (-1)");
  check(!soft || !multi_label,
        "--class-weights and --label-smoothing are for one label per node, and this dataset has several");
  check(options.metric != NodeMetric::kMacroF1 || !multi_label,
        "--metric macro-f1 is for one label per node, and this dataset has several: use roc-auc or ap");
  auto shared = std::make_shared<ClassObjective>();
  shared->forward = of_all_ranks(task, model.forward);
  shared->label = whole.label;
  shared->split = whole.split;
  shared->metric = options.metric;
  if (missing)
    for (const Tensor& set : {whole.split.train, whole.split.val, whole.split.test})
      shared->known.push_back(known_labels(whole.label, set));
  check(!missing || shared->known[0].numel() > 0, "the training nodes have no label: all of /y is -1 there");
  if (soft) {
    SoftTargetOptions weights{.class_weight = {}, .label_smoothing = options.label_smoothing};
    if (options.class_weights == kBalanced)
      weights.class_weight = balanced_weights(whole);
    else if (!options.class_weights.empty())
      weights.class_weight = parse_class_weights(options.class_weights);
    check(weights.class_weight.empty() || std::ssize(weights.class_weight) == task.num_classes,
          "--class-weights needs ", task.num_classes, " numbers, one for each class, got ",
          weights.class_weight.size());
    shared->target = soft_targets(whole.label, whole.split.train, task.num_classes, weights);
  }
  if (options.metric == NodeMetric::kRocAuc || options.metric == NodeMetric::kAp) {
    const Tensor* sets[] = {&whole.split.train, &whole.split.val, &whole.split.test};
    constexpr const char* kNames[] = {"training", "validation", "test"};
    for (std::size_t s = 0; s < 3; ++s) {
      shared->sets[s] = rankings(whole, *sets[s]);
      check(!shared->sets[s].empty() || sets[s]->numel() == 0, "--metric ", name(options.metric), ": the ",
            kNames[s], " nodes have no class with nodes in and outside it");
    }
  }
  model.objective = {[shared] { return shared->loss(); }, [shared] { return shared->evaluate(); }};
  task.metric = title(options.metric);
}

}  // namespace rodeo
