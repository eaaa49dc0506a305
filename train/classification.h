/// Losses and metrics of classification.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "train/criterion.h"
#include "train/metric.h"

namespace rodeo {

struct ClassificationOptions {
  NodeMetric metric = NodeMetric::kAccuracy;  // not kMse and kMae; kMacroF1 is for one label per example
  std::vector<double> class_weights = {};     // one for each class, >= 0; empty: ones
  double label_smoothing = 0;                 // in [0, 1): the share of a target spread over all classes
};

/// One label per example: cross entropy, as torch.nn.functional.cross_entropy with `weight` and
/// `label_smoothing`, the mean over the weights of the labels. Several labels per example: binary cross
/// entropy of every class, the mean over the known ones (Dataset::kMissingLabel is left out).
///
/// Metrics: accuracy, or micro-averaged F1 with several labels; macro-averaged F1; ROC-AUC and average
/// precision of the second class against the first, with more classes, or several labels, the mean over the
/// classes that a set has, each against the rest. The losses of metrics() have no weights and no smoothing.
class Classification : public Criterion {
 public:
  /// label: i64 [examples] or u8 [examples, classes], on the device of the predictions; so is `sets`. Throws
  /// Error for options out of range, a set of `sets` that is undefined, class weights or smoothing or
  /// kMacroF1 with several labels, a training set without a known label, and a ranking metric of a set in
  /// which no class has examples in and outside it.
  Classification(Tensor label, Split sets, std::int64_t classes, const ClassificationOptions& options = {});

  Variable loss(const Variable& logits, const Examples& examples) const override;
  double terms(std::span<const std::int64_t> examples) const override;
  Tensor metrics(const Tensor& logits) const override;
  std::string metric_name() const override;
  const Split& sets() const override { return sets_; }
  bool metrics_are_means() const override;
  bool is_fixed() const override;

 private:
  /// A class of a set, and its examples: i64 [p] and [q].
  struct ClassRanking {
    std::int64_t column = 0;
    Tensor positive, negative;
  };
  using SetRankings = std::vector<ClassRanking>;

  bool has_several_labels() const { return label_.rank() == 2; }
  Tensor flat_label() const { return label_.reshape({label_.numel(), 1}); }
  SetRankings rankings(const Tensor& set) const;
  Tensor scores(const Tensor& logits, std::int64_t column) const;
  Tensor ranking(const Tensor& logits, const SetRankings& set) const;
  Variable loss_of_known(const Variable& logits, const Examples& examples) const;
  Variable soft_loss(const Variable& logits, const Examples& examples) const;

  Tensor label_;
  Split sets_;
  std::int64_t classes_;
  ClassificationOptions options_;
  RowNumbers row_numbers_;
  ExampleRows example_rows_;
  std::vector<std::int64_t> host_label_;  // with class weights
  std::vector<std::uint8_t> is_known_;    // [examples * classes], where labels are missing; else empty
  std::array<Tensor, 3> known_;  // positions in the flat labels, i64, of each set; where labels are missing
  Tensor soft_target_;           // f32 [examples, classes] of soft_cross_entropy; undefined without
  double training_terms_ = 0;    // terms() of the training set, with a soft target
  std::array<SetRankings, 3> rankings_;  // with a ranking metric
};

/// "balanced" class weights: examples / (classes x examples of the class); 0 for a class without any.
///   label  i64 [examples];  index  i64 [k]: the training set
std::vector<double> balanced_weights(const Tensor& label, const Tensor& index, std::int64_t classes);

}  // namespace rodeo
