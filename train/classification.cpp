#include "train/classification.h"

#include <algorithm>
#include <utility>

#include "datasets/dataset.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/macro_f1.h"
#include "ops/ranking.h"
#include "ops/soft_cross_entropy.h"

namespace rodeo {
namespace {

bool has_missing_labels(const Tensor& label) {
  if (label.dtype() != DType::kU8) return false;
  const std::vector<std::uint8_t> labels = label.to_vector<std::uint8_t>();
  return std::find(labels.begin(), labels.end(), Dataset::kMissingLabel) != labels.end();
}

/// The known positions among those of `examples`, in an array whose row i is of example rows(i).
template <class RowOf>
std::vector<std::int64_t> known_positions(std::span<const std::int64_t> examples,
                                          const std::vector<std::uint8_t>& is_known, std::int64_t classes,
                                          RowOf&& row_of) {
  std::vector<std::int64_t> at;
  for (std::size_t i = 0; i < examples.size(); ++i)
    for (std::int64_t c = 0; c < classes; ++c)
      if (is_known[static_cast<std::size_t>(examples[i] * classes + c)] != 0)
        at.push_back(row_of(i) * classes + c);
  return at;
}

}  // namespace

std::vector<double> balanced_weights(const Tensor& label, const Tensor& index, std::int64_t classes) {
  std::vector<double> count(static_cast<std::size_t>(classes));
  const auto labels = take(label, index).to_vector<std::int64_t>();
  for (const std::int64_t of : labels) ++count[static_cast<std::size_t>(of)];
  for (double& of : count)
    if (of > 0) of = static_cast<double>(labels.size()) / (static_cast<double>(classes) * of);
  return count;
}

Classification::Classification(Tensor label, Split sets, std::int64_t classes,
                               const ClassificationOptions& options)
    : label_(std::move(label)),
      sets_(std::move(sets)),
      classes_(classes),
      options_(options),
      row_numbers_(label_.device()),
      example_rows_(sets_.train) {
  check(sets_.train.defined() && sets_.val.defined(), "[train] the split has undefined nodes");
  check(sets_.test.defined(), "[train] the split has undefined test nodes");
  const bool soft = !options.class_weights.empty() || options.label_smoothing > 0;
  check(!is_regression(options.metric), "[classification] the metric ", name(options.metric),
        " is for numbers, and the labels are classes");
  check(!soft || !has_several_labels(),
        "--class-weights and --label-smoothing are for one label each, and this dataset has several");
  check(options.metric != NodeMetric::kMacroF1 || !has_several_labels(),
        "--metric macro-f1 is for one label each, and this dataset has several: use roc-auc or ap");
  check(options.class_weights.empty() || std::ssize(options.class_weights) == classes,
        "--class-weights needs ", classes, " numbers, one for each class, got ",
        options.class_weights.size());
  const auto parts = sets_.sets();
  if (has_missing_labels(label_)) {
    is_known_ = label_.to_vector<std::uint8_t>();
    for (std::uint8_t& of : is_known_) of = of != Dataset::kMissingLabel;
    for (std::size_t s = 0; s < 3; ++s) {
      const std::vector<std::int64_t> examples = parts[s].to_vector<std::int64_t>();
      known_[s] = Tensor::from(
          known_positions(examples, is_known_, classes_, [&](std::size_t i) { return examples[i]; }),
          label_.device());
    }
  }
  if (!options.class_weights.empty()) host_label_ = label_.to_vector<std::int64_t>();
  if (soft) training_terms_ = training_terms();
  if (soft && training_terms_ > 0)
    soft_target_ =
        soft_targets(label_, sets_.train, classes_,
                     {.class_weight = options.class_weights, .label_smoothing = options.label_smoothing});
  if (options.metric != NodeMetric::kRocAuc && options.metric != NodeMetric::kAp) return;
  for (std::size_t s = 0; s < 3; ++s) {
    rankings_[s] = rankings(parts[s]);
    check(!rankings_[s].empty() || parts[s].numel() == 0, "--metric ", name(options.metric), ": the ",
          kSetNames[s], " set has no class with examples in and outside it");
  }
}

Variable Classification::loss(const Variable& predictions, const Examples& examples) const {
  const Variable logits = examples.ids.defined() ? example_rows_(predictions, examples) : predictions;
  if (!is_known_.empty()) return loss_of_known(logits, examples);
  if (soft_target_.defined()) return soft_loss(logits, examples);
  const bool whole = !examples.ids.defined();
  const Tensor label = whole ? label_ : take(label_, examples.ids),
               index = whole ? sets_.train : row_numbers_(examples.ids.numel());
  return has_several_labels() ? bce_with_logits(logits, label, index) : cross_entropy(logits, label, index);
}

Variable Classification::loss_of_known(const Variable& logits, const Examples& examples) const {
  const auto mean = [&](const Tensor& label, const Tensor& known) {
    if (known.numel() == 0) return no_loss(logits);
    return bce_with_logits(reshape(logits, Shape{logits.shape().numel(), 1}), label, known);
  };
  if (!examples.ids.defined()) return mean(flat_label(), known_[0]);
  const std::vector<std::int64_t> known = known_positions(
      examples.host, is_known_, classes_, [](std::size_t i) { return static_cast<std::int64_t>(i); });
  const Tensor label = take(label_, examples.ids);
  return mean(label.reshape({label.numel(), 1}), Tensor::from(known, label_.device()));
}

/// The target of the training set, whose rows have a common factor: the sum of the weights.
Variable Classification::soft_loss(const Variable& logits, const Examples& examples) const {
  if (!examples.ids.defined()) return soft_cross_entropy(logits, soft_target_);
  const bool weighted = !options_.class_weights.empty();
  const double own = weighted ? terms(examples.host) : static_cast<double>(examples.ids.numel());
  if (own == 0) return no_loss(logits);
  const Tensor target = take(soft_target_, examples.ids);
  return soft_cross_entropy(logits, linear_combination(training_terms_ / own, target, 0, target));
}

double Classification::terms(std::span<const std::int64_t> examples) const {
  double sum = 0;
  if (!options_.class_weights.empty())
    for (const std::int64_t i : examples)
      sum += options_.class_weights[static_cast<std::size_t>(host_label_[static_cast<std::size_t>(i)])];
  else if (!is_known_.empty())
    for (const std::int64_t i : examples)
      sum += static_cast<double>(std::count(is_known_.begin() + i * classes_,
                                            is_known_.begin() + (i + 1) * classes_, std::uint8_t{1}));
  else
    sum = static_cast<double>(examples.size());
  return sum;
}

Tensor Classification::metrics(const Tensor& predictions) const {
  const auto sets = sets_.sets();
  const std::vector<Tensor> nodes(sets.begin(), sets.end());
  const Tensor out = (!is_known_.empty()     ? label_metrics(predictions.reshape(flat_label().shape()),
                                                             flat_label(), {known_[0], known_[1], known_[2]})
                      : has_several_labels() ? label_metrics(predictions, label_, nodes)
                                             : node_metrics(predictions, label_, nodes))
                         .reshape({6});
  if (options_.metric == NodeMetric::kMacroF1) {
    const Tensor f1 = macro_f1(predictions, label_, nodes);
    for (std::int64_t s = 0; s < 3; ++s) out.slice(2 * s, 2 * s + 1).copy_from(f1.slice(s, s + 1));
  } else if (options_.metric != NodeMetric::kAccuracy) {
    const Tensor logits = predictions.to(DType::kF32);
    for (std::int64_t s = 0; s < 3; ++s)
      if (const SetRankings& set = rankings_[static_cast<std::size_t>(s)]; !set.empty())
        out.slice(2 * s, 2 * s + 1).copy_from(ranking(logits, set));
  }
  return out.reshape({3, 2});
}

std::string Classification::metric_name() const {
  switch (options_.metric) {
    case NodeMetric::kMacroF1:
      return "macro-F1";
    case NodeMetric::kRocAuc:
      return "ROC-AUC";
    case NodeMetric::kAp:
      return "average precision";
    default:
      return has_several_labels() ? "micro-F1" : "accuracy";
  }
}

bool Classification::metrics_are_means() const {
  return options_.metric == NodeMetric::kAccuracy && !has_several_labels();
}

bool Classification::is_fixed() const {
  return is_known_.empty() && options_.class_weights.empty();
}

Classification::SetRankings Classification::rankings(const Tensor& set) const {
  const std::vector<std::int64_t> nodes = set.to_vector<std::int64_t>();
  std::vector<std::int64_t> label;
  std::vector<std::uint8_t> labels;
  if (has_several_labels())
    labels = label_.to_vector<std::uint8_t>();
  else
    label = label_.to_vector<std::int64_t>();
  SetRankings out;
  for (std::int64_t c = !has_several_labels() && classes_ == 2 ? 1 : 0; c < classes_; ++c) {
    std::vector<std::int64_t> positive, negative;
    for (const std::int64_t node : nodes) {
      const std::size_t at = static_cast<std::size_t>(has_several_labels() ? node * classes_ + c : node);
      if (has_several_labels() && labels[at] == Dataset::kMissingLabel) continue;
      const bool is = has_several_labels() ? labels[at] != 0 : label[at] == c;
      (is ? positive : negative).push_back(node);
    }
    if (positive.empty() || negative.empty()) continue;
    out.push_back({c, Tensor::from(positive, label_.device()), Tensor::from(negative, label_.device())});
  }
  return out;
}

/// Scores [examples] of a class: the difference of two logits, the logit of a label, or a log-probability.
Tensor Classification::scores(const Tensor& logits, std::int64_t column) const {
  const std::int64_t nodes = logits.dim(0);
  const auto part = [&](const Tensor& of, std::int64_t j) { return columns(of, j, j + 1).reshape({nodes}); };
  if (has_several_labels()) return part(logits, column);
  if (logits.dim(1) == 2) return linear_combination(1, part(logits, 1), -1, part(logits, 0));
  return part(log_softmax(logits), column);
}

/// The mean over the classes of a set: f64 [1].
Tensor Classification::ranking(const Tensor& logits, const SetRankings& set) const {
  const int column = options_.metric == NodeMetric::kRocAuc ? kRankingAuc : kRankingAp;
  const double share = 1 / static_cast<double>(set.size());
  Tensor mean;
  for (const ClassRanking& of : set) {
    const Tensor all = scores(logits, of.column);
    const Tensor one =
        ranking_metrics(take(all, of.positive), take(all, of.negative)).slice(column, column + 1);
    mean = mean.defined() ? linear_combination(1, mean, share, one) : linear_combination(share, one, 0, one);
  }
  return mean;
}

}  // namespace rodeo
