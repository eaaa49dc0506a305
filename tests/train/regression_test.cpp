// Regression of nodes: targets in files, losses, metrics, training and predictions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "datasets/dataset.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/steps.h"
#include "tests/support/temp_dir.h"
#include "train/regression.h"
#include "train/task/criteria.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

class TrainRegression : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainRegression);

/// Targets that a GCN can learn: 1 + the class, and half of its square. Every seventh value is missing.
Dataset graph_with_targets() {
  Dataset data = synthesize({.nodes = 300,
                             .edges = 2400,
                             .features = 32,
                             .classes = 3,
                             .homophily = 0.9,
                             .label_noise = 0,
                             .split = "50/20/30",
                             .seed = 5});
  std::vector<float> targets;
  for (const std::int64_t label : data.y.to_vector<std::int64_t>()) {
    const auto value = static_cast<float>(1 + label);
    for (const float target : {value, value * value / 2})
      targets.push_back(targets.size() % 7 == 3 ? kNone : target);
  }
  data.y = Tensor::from(targets, {data.num_nodes, 2});
  data.num_classes = 2;
  return data;
}

struct Errors {
  double squares = 0, absolutes = 0, variance = 0;
};

/// Errors of the known targets of a set, by definition.
Errors errors_of(const std::vector<double>& predicted, const std::vector<float>& y,
                 const std::vector<std::int64_t>& nodes) {
  Errors out;
  double count = 0;
  for (std::size_t j = 0; j < 2; ++j) {
    double sum = 0, known = 0;
    for (const bool second : {false, true})
      for (const std::int64_t node : nodes) {
        const std::size_t at = 2 * static_cast<std::size_t>(node) + j;
        if (std::isnan(y[at])) continue;
        const double target = static_cast<double>(y[at]), d = predicted[at] - target;
        if (second)
          out.squares += d * d, out.absolutes += std::abs(d),
              out.variance += std::pow(target - sum / known, 2);
        else
          sum += target, ++known;
      }
    count += known;
  }
  return {out.squares / count, out.absolutes / count, out.variance / count};
}

TEST_P(TrainRegression, LossAndMetricsByDefinition) {
  const Dataset data = graph_with_targets();
  const std::vector<float> y = data.y.to_vector<float>();
  for (const RegressionLoss loss : {RegressionLoss::kMse, RegressionLoss::kMae})
    for (const NodeMetric metric : {NodeMetric::kAccuracy, NodeMetric::kMse, NodeMetric::kMae}) {
      TrainOptions options = published_options("gcn");
      options.loss = loss, options.metric = metric, options.dropout = 0;
      const NodeRun run = make_run(data, options, device());
      run.model.module->eval();
      const Tensor outputs = run.model.forward().value();
      const ColumnScale& scale = run.task.target_scale;
      const std::vector<double> logits = doubles(scale.undo(outputs)), scaled = doubles(outputs);
      const std::vector<float> scaled_y = scale.apply(data.y.to(device())).to_vector<float>();
      const std::vector<double> got = metrics_of(run);
      const Split& split = data.split;
      for (std::size_t s = 0; s < 3; ++s) {
        const Errors e = errors_of(logits, y, (&split.train + s)->to_vector<std::int64_t>());
        const double want = metric == NodeMetric::kMse   ? -e.squares
                            : metric == NodeMetric::kMae ? -e.absolutes
                                                         : 1 - e.squares / e.variance;
        EXPECT_NEAR(got[2 * s], want, 1e-6 * (1 + std::abs(want)));
        const Errors of_loss = errors_of(scaled, scaled_y, (&split.train + s)->to_vector<std::int64_t>());
        const double want_loss = loss == RegressionLoss::kMse ? of_loss.squares : of_loss.absolutes;
        EXPECT_NEAR(got[2 * s + 1], want_loss, 1e-6 * want_loss);
        if (s == 0) {
          EXPECT_NEAR(first_loss(run).value().item(), want_loss, 1e-6 * want_loss);
        }
        if (s == 2) {
          const auto details = run.model.parts.metrics->details();
          const double r2 = 1 - e.squares / e.variance;
          EXPECT_NEAR(details[0].second, r2, 1e-6 * (1 + std::abs(r2)));
          EXPECT_NEAR(details[1].second, e.squares, 1e-6 * e.squares);
          EXPECT_NEAR(details[2].second, e.absolutes, 1e-6 * e.absolutes);
        }
      }
    }
}

TEST_P(TrainRegression, LearnsTargets) {
  for (const char* model : {"gcn", "sage"}) {
    TrainOptions options = published_options(model);
    options.lr = 0.02;
    const NodeRun run = make_run(graph_with_targets(), options, device());
    EXPECT_EQ(run.task.metric, "R^2");
    const TrainSummary summary = make_trainer(run, {.epochs = 150}).fit();
    EXPECT_GT(summary.best.test, 0.6) << model;
    const NodeRun again = make_run(graph_with_targets(), options, device());
    EXPECT_EQ(make_trainer(again, {.epochs = 150}).fit().best.test, summary.best.test) << "other bits";
  }
}

// What weighs the loss of a batch beside others.
TEST(TrainRegressionTerms, AreTheKnownTargets) {
  const auto terms = [](const std::vector<float>& y) {
    const Tensor all = Tensor::from<std::int64_t>({0, 1, 2});
    const std::vector<std::int64_t> examples{2, 0};
    return Regression(Tensor::from(y, {3, 2}), {all, all, all}).terms(examples);
  };
  EXPECT_EQ(terms({1, 2, 3, 4, 5, 6}), 4);
  EXPECT_EQ(terms({1, kNone, 3, 4, 5, 6}), 3);
  EXPECT_EQ(terms({kNone, kNone, 3, 4, kNone, kNone}), 0);
}

TEST(TrainRegressionErrors, NameWhatIsForClasses) {
  TrainOptions options = published_options("gcn");
  options.metric = NodeMetric::kRocAuc;
  EXPECT_ERROR(
      make_run(graph_with_targets(), options, kCpu),
      "--metric roc-auc is for classes, and the labels of this dataset are numbers: use mse or mae, or "
      "leave it out for R^2");
  options.metric = NodeMetric::kAccuracy, options.label_smoothing = 0.1;
  EXPECT_ERROR(
      make_run(graph_with_targets(), options, kCpu),
      "--class-weights and --label-smoothing are for classes, and the labels of this dataset are numbers");
  options.label_smoothing = 0;
  Dataset data = graph_with_targets();
  data.y.fill(static_cast<double>(kNone));
  EXPECT_ERROR(make_run(data, options, kCpu),
               "the training nodes have no target: all values of /y are NaN there");
  options.metric = NodeMetric::kMae;
  EXPECT_ERROR(
      make_run(synthesize({.nodes = 50, .edges = 100, .features = 4, .split = "50/20/30"}), options, kCpu),
      "--metric mae, --loss mse: mse and mae are for labels that are numbers, and the labels of this "
      "dataset are classes");
}

TEST(DatasetsTargets, AreReadAsWritten) {
  const test::TempDir dir;
  Dataset data = graph_with_targets();
  save_dataset(data, dir / "a.h5");
  const Dataset read = load_dataset(dir / "a.h5", {.need = Need::kTraining});
  EXPECT_TRUE(read.regression());
  EXPECT_EQ(read.num_classes, 2);
  EXPECT_TRUE(same_bits(read.y, data.y));
  const Tensor nodes = Tensor::from(std::vector<std::int64_t>{7, 3});
  EXPECT_TRUE(same_bits(select_nodes(data, nodes).y.slice(1, 2), data.y.slice(3, 4)));
  data.y.data<float>()[5] = std::numeric_limits<float>::infinity();
  save_dataset(data, dir / "b.h5");
  EXPECT_ERROR(load_dataset(dir / "b.h5"),
               dir / "b.h5: /y[2, 1] is inf: targets must be finite, or NaN where they are missing");
}

TEST(DatasetsTargets, RandomSplitsLeaveOutNodesWithoutAny) {
  const Tensor y = Tensor::from(std::vector<float>{1, kNone, kNone, kNone, 2, 3, 4, 5}, {4, 2});
  const Split split = random_split(y, "50/50/0", 1);
  std::vector<std::int64_t> nodes = split.train.to_vector<std::int64_t>();
  for (const std::int64_t node : split.val.to_vector<std::int64_t>()) nodes.push_back(node);
  std::ranges::sort(nodes);
  EXPECT_EQ(nodes, (std::vector<std::int64_t>{0, 2, 3}));
}

}  // namespace
}  // namespace rodeo::test
