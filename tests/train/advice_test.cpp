// Remarks on data and results that look right and are not.
#include "train/task/advice.h"

#include <fmt/format.h>

#include <cmath>

#include "tests/support/devices.h"
#include "tests/support/tiny.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

class TrainAdvice : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainAdvice);

/// A path of four nodes, its edges in one direction, and one edge in both.
Dataset one_way() {
  Dataset dataset;
  dataset.name = "path";
  dataset.num_nodes = 4, dataset.num_features = 2, dataset.num_classes = 3;
  dataset.src = Tensor::from(std::vector<std::int32_t>{0, 1, 2, 3});
  dataset.dst = Tensor::from(std::vector<std::int32_t>{1, 2, 3, 2});
  dataset.x = Tensor::full({4, 2}, 1);
  dataset.y = Tensor::from(std::vector<std::int64_t>{0, 2, 2, 1});
  const auto nodes = [](std::vector<std::int64_t> ids) { return Tensor::from(ids); };
  dataset.split = {nodes({0}), nodes({}), nodes({1, 2, 3})};
  return dataset;
}

NodeTask task_of(Dataset dataset, const TrainOptions& options, Device device) {
  // Edges and features are where the loader puts them.
  for (Tensor* x : {&dataset.src, &dataset.dst, &dataset.x}) *x = x->to(device);
  return make_run(std::move(dataset), options, device).task;
}

TEST_P(TrainAdvice, EdgesInOneDirectionAreNamed) {
  TrainOptions options;
  NodeTask task = task_of(one_way(), options, device());
  EXPECT_EQ(task.one_way_edges, 2);
  EXPECT_EQ(
      task.warnings,
      std::vector<std::string>{
          "the graph is not symmetric: 2 of 4 edges (50 %) have no reverse edge. Messages go from source to "
          "destination only; unless that is meant, --undirected adds the missing direction"});
  options.model = "mlp";
  EXPECT_TRUE(task_of(one_way(), options, device()).warnings.empty());  // it reads no edges
  options.model = "gcn", options.undirected = true;
  task = task_of(one_way(), options, device());
  EXPECT_EQ(task.one_way_edges, 0);
  EXPECT_TRUE(task.warnings.empty());
  EXPECT_EQ(task_of(tiny_dataset(), {}, device()).one_way_edges, 0);
}

TEST_P(TrainAdvice, TheLargestClassOfTheTestNodesIsKnown) {
  const NodeTask task = task_of(one_way(), {}, device());
  EXPECT_EQ(task.majority_class, 2);
  EXPECT_DOUBLE_EQ(task.majority, 2. / 3);
  EXPECT_EQ(describe_majority(task), "0.6667 of the test nodes are of the largest class, 2");
  Dataset named = one_way();
  named.class_names = {"a", "b", "c\n<\x1b"};
  EXPECT_EQ(describe_majority(task_of(std::move(named), {}, device())),
            "0.6667 of the test nodes are of the largest class, 2 (c\\n<\\x1b)");
  Dataset none = one_way();
  none.split.test = none.split.val;
  EXPECT_EQ(task_of(std::move(none), {}, device()).majority_class, -1);
  Dataset several = one_way();
  several.y = Tensor::zeros({4, 3}, DType::kU8);
  EXPECT_EQ(task_of(std::move(several), {}, device()).majority_class, -1);
}

// Each rule on both sides of its edge. ln 7 = 1.9459.
TEST(TrainRunNotes, EdgesOfTheRules) {
  struct Case {
    int epochs, best_epoch;
    double best, last, last_loss;  // test accuracy; validation loss
    const char* note;              // the largest class has 0.25
  };
  constexpr const char* kLate =
      "not converged: the best epoch is {} of 200. Try more --epochs, a larger --lr or another "
      "--normalize-features";
  const std::vector<Case> cases = {
      {200, 190, 0.5, 0.5, 1, ""},
      {200, 191, 0.5, 0.5, 1, kLate},
      {200, 197, 0.5, 0.5, 1, kLate},
      {200, 200, 0.5, 0.5, 1, kLate},
      {199, 197, 0.5, 0.5, 1, ""},  // an early stop
      {200, 20, 0.26, 0.25, 3.8,
       "no better than chance: test accuracy 0.2500 after the last epoch, and 0.2500 without training. Try "
       "an --lr below 0.5"},
      {200, 20, 0.26, 0.25, 3.9,
       "diverged: the last validation loss is 3.9, and 1.9459 for equal probabilities of all classes. Try an "
       "--lr below 0.5"},
      {200, 20, 0.26, 0.26, 3.9, ""},
      {54, 4, 0.25, 0.26, 1,
       "no better than chance: test accuracy 0.2500 at the best epoch, and 0.2500 without training. Try an "
       "--lr other than 0.5, another --normalize-features, a --patience above 50"},
      {200, 197, 0.25, 0.26, 1,
       "no better than chance: test accuracy 0.2500 at the best epoch, and 0.2500 without training. Try an "
       "--lr other than 0.5, another --normalize-features, more --epochs than 200"},
      {54, 4, 0.26, 0.26, 1, ""},
  };
  TrainOptions options;
  options.epochs = 200, options.patience = 50, options.lr = 0.5;
  NodeTask task;
  task.num_classes = 7, task.majority = 0.25, task.majority_class = 3;
  task.label = Tensor::zeros({1}, DType::kI64);
  for (const Case& c : cases) {
    TrainSummary summary;
    summary.epochs = c.epochs, summary.best_epoch = c.best_epoch;
    summary.best = {.train = 1, .val = 0.5, .test = c.best, .val_loss = 1};
    summary.last = {.train = 1, .val = 0.5, .test = c.last, .val_loss = c.last_loss};
    const std::vector<Note> notes = run_notes(task, summary, options);
    const std::string text = notes.empty() ? "" : notes.front().text();
    EXPECT_EQ(text, fmt::format(fmt::runtime(c.note), c.best_epoch));
    EXPECT_LE(notes.size(), 1);
    summary.stopped = true;
    EXPECT_TRUE(run_notes(task, summary, options).empty());
  }
}

TEST(TrainRunNotes, OneClassIsNothingToLearn) {
  NodeTask task;
  task.num_classes = 3, task.majority = 1, task.majority_class = 0;
  task.label = Tensor::zeros({1}, DType::kI64);
  TrainSummary summary;
  summary.epochs = summary.best_epoch = 200;
  summary.best = summary.last = {.train = 1, .val = 1, .test = 1, .val_loss = 0};
  const std::vector<Note> notes = run_notes(task, summary, {});
  ASSERT_EQ(notes.size(), 1);
  EXPECT_EQ(notes[0].text(),
            "nothing to learn: all of the test nodes are of one class. Look at the labels, or at --split");
}

TEST(TrainRunNotes, ChanceOfEachMetric) {
  NodeTask task;
  task.label = Tensor::zeros({1}, DType::kI64);
  task.majority = 0.25;
  EXPECT_EQ(chance_level(task), 0.25);
  for (const auto& [metric, level] : {std::pair{"AUC", 0.5}, {"ROC-AUC", 0.5}, {"R^2", 0.0}}) {
    task.metric = metric;
    EXPECT_EQ(chance_level(task), level) << metric;
  }
  for (const char* metric : {"-MSE", "micro-F1", "MRR"}) {
    task.metric = metric;
    EXPECT_TRUE(std::isnan(chance_level(task))) << metric;
  }
}

}  // namespace
}  // namespace rodeo::test
