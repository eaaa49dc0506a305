// Metrics beside those of OGB's evaluators, from scripts/ogb_reference.py.
#include <cmath>
#include <filesystem>
#include <numeric>

#include "datasets/dataset.h"
#include "ops/combine.h"
#include "ops/ranking.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/pyg_reference.h"
#include "train/classification.h"
#include "train/pair_ranking.h"
#include "train/regression.h"

namespace rodeo::test {
namespace {

class TrainOgbReference : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    const std::string file = RODEO_SOURCE_DIR "/tests/data/ogb_reference.txt";
    if (!std::filesystem::exists(file))
      GTEST_SKIP() << "no tests/data/ogb_reference.txt: scripts/ogb_reference.py makes it";
    reference_ = std::make_unique<PygReference>(file);
  }
  Tensor at(const char* name, const std::string& array) const {
    return reference_->at(name, array).to(device());
  }
  double number(const char* name, const std::string& array) const {
    return doubles(reference_->at(name, array)).at(0);
  }
  /// The metric of the test set, which is all examples.
  double metric(const Tensor& label, const Tensor& logits, NodeMetric by) const {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < logits.dim(0); ++i) all.push_back(i);
    const Tensor ids = Tensor::from(all, device());
    const Classification criterion(label, {ids, ids, ids}, logits.dim(1), {.metric = by});
    return doubles(criterion.metrics(logits)).at(4);
  }
  std::unique_ptr<PygReference> reference_;
};
RODEO_ON_ALL_DEVICES(TrainOgbReference);

TEST_P(TrainOgbReference, AccuracyOfClasses) {
  EXPECT_NEAR(metric(at("classes", "label").to(DType::kI64), at("classes", "logits"), NodeMetric::kAccuracy),
              number("classes", "accuracy"), 1e-12);
}

TEST_P(TrainOgbReference, TasksWithMissingLabels) {
  std::vector<std::uint8_t> label;
  for (const double y : doubles(reference_->at("tasks", "label")))
    label.push_back(y < 0 ? Dataset::kMissingLabel : static_cast<std::uint8_t>(y));
  const Tensor logits = at("tasks", "logits"),
               y = Tensor::from(label, device()).reshape({logits.dim(0), logits.dim(1)});
  EXPECT_NEAR(metric(y, logits, NodeMetric::kRocAuc), number("tasks", "roc-auc"), 1e-12);
  EXPECT_NEAR(metric(y, logits, NodeMetric::kAp), number("tasks", "ap"), 1e-12);
}

TEST_P(TrainOgbReference, RootOfTheMeanSquaredError) {
  const Tensor predicted = at("numbers", "predicted");
  std::vector<std::int64_t> all(50);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const Tensor ids = Tensor::from(all, device());
  const Regression criterion(at("numbers", "target").to(DType::kF32), {ids, ids, ids},
                             {.metric = NodeMetric::kMse});
  EXPECT_NEAR(std::sqrt(-doubles(criterion.metrics(predicted.to(DType::kF32))).at(4)),
              number("numbers", "rmse"), 1e-6);
}

TEST_P(TrainOgbReference, EqualScoresOfLinks) {
  const auto ones = [&](std::int64_t count) { return Tensor::full({count}, 1, DType::kF64, device()); };
  const std::vector<double> got = doubles(ranking_metrics(ones(30), ones(80), 50));
  EXPECT_EQ(got[kRankingHits], number("ties", "hits50"));
  EXPECT_NEAR(got[kRankingMrr], number("ties", "mrr"), 1e-6);
}

TEST_P(TrainOgbReference, RanksOfLinks) {
  const Tensor positive = at("links", "positive"), negative = at("links", "negative");
  for (const int k : {20, 50, 100}) {
    const std::vector<double> got = doubles(ranking_metrics(positive, negative, k));
    EXPECT_NEAR(got[kRankingHits], number("links", str("hits", k)), 1e-12) << k;
    EXPECT_NEAR(got[kRankingMrr], number("links", "mrr"), 1e-6);  // OGB's is f32
  }
}

// ogbl-citation2's way: each positive has 90 negatives of its own. Training and validation sets of one pair
// each.
TEST_P(TrainOgbReference, RanksAmongNegativesOfEachLink) {
  const Tensor positive = at("links", "positive"), lists = at("links", "lists");
  const Tensor one = Tensor::zeros({2, 1}, DType::kF32, device());
  const Tensor scores = concat_rows(std::vector{one, one, positive.to(DType::kF32).reshape({70, 1}),
                                                lists.to(DType::kF32).reshape({6300, 1})});
  for (const int k : {1, 3, 10}) {
    const PairRanking criterion({1, 1}, {PairCounts{1, 1}, {1, 1}, {70, 6300, true}}, device(),
                                {.column = kRankingMrr, .hits = k});
    EXPECT_NEAR(doubles(criterion.metrics(scores)).at(4), number("links", "lists_mrr"),
                1e-6);  // OGB's is f32
    EXPECT_NEAR(criterion.details()[kRankingHits].second, number("links", str("lists_hits", k)), 1e-12) << k;
  }
}

}  // namespace
}  // namespace rodeo::test
