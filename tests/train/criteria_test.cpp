#include "train/task/criteria.h"

#include <algorithm>
#include <cmath>

#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/steps.h"
#include "train/classification.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"

namespace rodeo::test {
namespace {

class TrainCriteria : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainCriteria);

Dataset small_graph(std::int64_t classes) {
  return synthesize({.nodes = 300,
                     .edges = 1200,
                     .features = 16,
                     .classes = classes,
                     .label_noise = 0,
                     .train_per_class = 20,
                     .val = 80,
                     .test = 120,
                     .seed = 5});
}

/// The share of pairs in the right order, by definition.
double area(const std::vector<double>& scores, const std::vector<bool>& positive) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (positive[i] && !positive[j])
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0, ++pairs;
  return right / pairs;
}

TEST_P(TrainCriteria, RocAucByDefinition) {
  for (const std::int64_t classes : {2, 4}) {
    TrainOptions options = published_options("gcn");
    options.metric = NodeMetric::kRocAuc;
    const NodeRun run = make_run(small_graph(classes), options, device());
    EXPECT_EQ(run.task.metric, "ROC-AUC");
    run.model.module->eval();
    const std::vector<double> got = metrics_of(run);
    const std::vector<double> logits = doubles(run.model.forward().value());
    const auto label = run.task.label.to_vector<std::int64_t>();
    const auto nodes = run.task.split.val.to_vector<std::int64_t>();
    double sum = 0;
    for (std::int64_t c = classes == 2 ? 1 : 0; c < classes; ++c) {
      std::vector<double> scores;
      std::vector<bool> positive;
      for (const std::int64_t node : nodes) {
        const double* row = logits.data() + node * classes;
        double all = 0;
        for (std::int64_t j = 0; j < classes; ++j) all += std::exp(row[j]);
        scores.push_back(classes == 2 ? row[1] - row[0] : row[c] - std::log(all));
        positive.push_back(label[static_cast<std::size_t>(node)] == c);
      }
      sum += area(scores, positive) / static_cast<double>(classes == 2 ? 1 : classes);
    }
    EXPECT_NEAR(got[2], sum, 2e-3) << classes;  // f32 scores may tie
  }
}

TEST_P(TrainCriteria, RankingsLeaveOutMissingLabels) {
  const Tensor label = Tensor::from<std::uint8_t>({Dataset::kMissingLabel, 1, 0, 1, 0}).reshape({5, 1}),
               logits = Tensor::from<float>({5, 4, 3, 2, 1}).reshape({5, 1}).to(device()),
               all = Tensor::from<std::int64_t>({0, 1, 2, 3, 4}).to(device());
  const auto of = [&](NodeMetric metric) {
    const Classification criterion(label.to(device()), {all, all, all}, 1, {.metric = metric});
    return criterion.metrics(logits).to_vector<double>()[0];
  };
  EXPECT_NEAR(of(NodeMetric::kRocAuc), 3. / 4, 1e-12);        // as a positive 5 / 6, as a negative 1 / 2
  EXPECT_NEAR(of(NodeMetric::kAp), (1 + 2. / 3) / 2, 1e-12);  // 11 / 12 and 1 / 2
}

TEST(TrainClassWeights, AreBalancedOverTheNodesOfASet) {
  const Tensor label = Tensor::from<std::int64_t>({0, 0, 1, 0, 2}),
               set = Tensor::from<std::int64_t>({0, 1, 2, 3});
  const std::vector<double> weights = balanced_weights(label, set, 3);
  EXPECT_EQ(weights, (std::vector<double>{4. / (3 * 3), 4. / 3, 0}));
}

TEST_P(TrainCriteria, EveryMetricTrainsAndChoosesTheBestEpoch) {
  for (const NodeMetric metric : {NodeMetric::kMacroF1, NodeMetric::kRocAuc, NodeMetric::kAp}) {
    TrainOptions options = published_options("sage");
    options.metric = metric;
    options.class_weights = "balanced";
    options.label_smoothing = 0.1;
    const NodeRun run = make_run(small_graph(3), options, device());
    Trainer trainer = make_trainer(run, {.epochs = 40});
    double best = 0;
    const TrainSummary summary = trainer.fit([&](const EpochReport& report) {
      best = std::max(best, report.evaluation.value_or(Evaluation()).val);
    });
    EXPECT_EQ(summary.best.val, best) << name(metric);
    EXPECT_GE(summary.best.test, 0.7) << name(metric);
  }
}

TEST(TrainCriteriaErrors, NameOptionAndExpectation) {
  TrainOptions options = published_options("gcn");
  EXPECT_ERROR(apply_options({{"metric", "f2", ""}}, options),
               "--metric must be accuracy, macro-f1, roc-auc, ap, mse or mae, got 'f2'");
  EXPECT_ERROR(apply_options({{"class-weights", "1,x", ""}}, options),
               "--class-weights must be balanced, or numbers of at least 0, one for each class, got '1,x'");
  options.class_weights = "1,2";
  EXPECT_ERROR(make_run(small_graph(3), options, kCpu),
               "--class-weights needs 3 numbers, one for each class, got 2");
  options = published_options("gcn");
  options.metric = NodeMetric::kAp;
  Dataset one = small_graph(2);
  one.y = Tensor::zeros({one.num_nodes}, DType::kI64);
  EXPECT_ERROR(make_run(one, options, kCpu),
               "--metric ap: the training set has no class with examples in and outside it");
}

TEST_P(TrainCriteria, MissingLabelsAreLeftOut) {
  Dataset data = small_graph(3);
  std::vector<std::uint8_t> labels;
  std::int64_t at = 0;
  for (const std::int64_t label : data.y.to_vector<std::int64_t>())
    for (std::int64_t c = 0; c < 3; ++c)
      labels.push_back(at++ % 5 == 2 ? Dataset::kMissingLabel
                                     : static_cast<std::uint8_t>(label == c || c == 1));
  data.y = Tensor::from(labels, {300, 3});
  TrainOptions options = published_options("gcn");
  options.dropout = 0;
  const NodeRun run = make_run(data, options, device());
  run.model.module->eval();
  const std::vector<double> logits = doubles(run.model.forward().value());
  const std::vector<double> got = metrics_of(run);
  for (std::size_t s = 0; s < 3; ++s) {
    double loss = 0, count = 0, right = 0, either = 0;
    for (const std::int64_t node : (&data.split.train + s)->to_vector<std::int64_t>())
      for (std::size_t i = 3 * static_cast<std::size_t>(node); i < 3 * static_cast<std::size_t>(node) + 3;
           ++i) {
        if (labels[i] == Dataset::kMissingLabel) continue;
        const bool yes = logits[i] > 0, wanted = labels[i] == 1;
        loss +=
            std::log1p(std::exp(-std::abs(logits[i]))) + std::max(logits[i], 0.0) - (wanted ? logits[i] : 0);
        right += yes && wanted, either += yes + wanted, ++count;
      }
    EXPECT_NEAR(got[2 * s + 1], loss / count, 1e-6);
    EXPECT_NEAR(got[2 * s], right > 0 ? 2 * right / either : 0, 1e-12);
    if (s == 0) {
      EXPECT_NEAR(first_loss(run).value().item(), loss / count, 1e-6);
    }
  }
  EXPECT_GT(make_trainer(run, {.epochs = 60}).fit().best.val, 0.8);
  options.metric = NodeMetric::kRocAuc;
  EXPECT_GT(make_trainer(make_run(data, options, device()), {.epochs = 60}).fit().best.val, 0.7);
}

}  // namespace
}  // namespace rodeo::test
