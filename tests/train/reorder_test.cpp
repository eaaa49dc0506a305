// --reorder: the nodes are trained in another order, and nobody else notices.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "datasets/hdf5_file.h"
#include "datasets/subset.h"
#include "ops/dense_csr.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/predict.h"
#include "train/commands/recorder.h"
#include "train/io/atomic_file.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr NodeOrder kOrders[] = {NodeOrder::kDegree, NodeOrder::kRcm, NodeOrder::kRabbit};

struct Trained {
  NodeTask task;
  Tensor logits;  // in the file's order
  TrainSummary summary;
};

Trained train(NodeRun run, const TrainOptions& options, Recorder* recorder = nullptr) {
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  if (recorder) recorder->start(run, trainer, "here");
  Trained trained;
  trained.summary = trainer.fit([&](const EpochReport& report) {
    if (recorder) recorder->epoch(report);
  });
  if (recorder) recorder->finish(trained.summary);
  run.model.module->eval();
  const NoGrad no_grad;
  trained.logits = in_file_order(run.task, run.model.forward().value());
  trained.task = std::move(run.task);
  return trained;
}

/// Without dropout, whose masks belong to places.
TrainOptions steady(std::string_view model, NodeOrder order = NodeOrder::kNone) {
  TrainOptions options = published_options(model);
  options.dropout = options.attention_dropout = 0;
  options.epochs = 15;
  options.spmm = SpmmAlgorithm::kRode;
  options.reorder = order;
  return options;
}

Ids in_file(const NodeTask& task, const Tensor& nodes) {
  Ids ids = nodes.to(kCpu).to(DType::kI64).to_vector<std::int64_t>();
  for (std::int64_t& id : ids) id = task.order.data<std::int64_t>()[id];
  std::sort(ids.begin(), ids.end());
  return ids;
}

class TrainReorder : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainReorder);

TEST_P(TrainReorder, PredictionsComeBackInTheFilesOrder) {
  const Dataset data = test::tiny_dataset();
  for (const std::string_view model : {"gcn", "gat", "sage", "appnp"}) {
    const Trained plain = train(make_run(data, steady(model), device()), steady(model));
    for (const NodeOrder order : kOrders) {
      SCOPED_TRACE(str(model, " ", name(order)));
      const TrainOptions options = steady(model, order);
      const Trained other = train(make_run(data, options, device()), options);
      EXPECT_NE(other.task.order.to_vector<std::int64_t>().front(), 0);
      // Sums are equal but for their order: rounding apart.
      EXPECT_TRUE(test::near(other.logits, test::doubles(plain.logits), 1e-3, 1e-3));
      EXPECT_NEAR(other.summary.last.test, plain.summary.last.test, 0.03);
      EXPECT_NEAR(other.summary.last.val_loss, plain.summary.last.val_loss, 1e-3);
    }
  }
}

TEST_P(TrainReorder, WithDropoutTheAccuracyIsThatOfAnotherSeed) {
  TrainOptions options = published_options("gcn");
  options.epochs = 60;
  const Dataset data = test::tiny_dataset(1000);
  const double plain = train(make_run(data, options, device()), options).summary.best.test;
  options.reorder = NodeOrder::kRabbit;
  EXPECT_NEAR(train(make_run(data, options, device()), options).summary.best.test, plain, 0.05);
}

TEST_P(TrainReorder, FeaturesLabelsAndPartsFollowTheirNodes) {
  Dataset data = test::tiny_dataset();
  TrainOptions options = steady("gcn", NodeOrder::kRabbit);
  options.normalize_features = FeatureScaling::kNone;
  for (const bool sparse : {false, true})
    for (const bool several : {false, true}) {
      SCOPED_TRACE(str(sparse ? "sparse" : "dense", several ? ", several labels" : ""));
      Dataset d = data;
      options.features = sparse ? FeatureForm::kSparse : FeatureForm::kDense;
      if (sparse) {
        const WeightedAdjacency entries = dense_to_csr(data.x);
        d.x_sparse = {entries.adj.csr().row_ptr, entries.adj.csr().col, entries.weight};
        d.x = {};
      }
      if (several) {
        d.y = Tensor::zeros({d.num_nodes, d.num_classes}, DType::kU8);
        for (std::int64_t i = 0; i < d.num_nodes; ++i)
          d.y.data<std::uint8_t>()[i * d.num_classes + i % d.num_classes] = 1;
      }
      const NodeRun run = make_run(d, options, device());
      const NodeTask& task = run.task;
      const Tensor x = sparse ? csr_to_dense(task.x.entries(), task.x.values()) : task.x.dense().value();
      EXPECT_TRUE(test::same_bits(in_file_order(task, x), data.x));
      EXPECT_TRUE(test::same_bits(in_file_order(task, task.label), d.y));
      EXPECT_EQ(in_file(task, task.split.train), data.split.train.to_vector<std::int64_t>());
      EXPECT_EQ(in_file(task, task.split.test), data.split.test.to_vector<std::int64_t>());
    }
}

TEST_P(TrainReorder, ARandomSplitHasTheSameNodes) {
  const test::TempDir dir;
  TrainOptions options = steady("gcn");
  options.dataset = dir / "tiny.h5";
  options.split = "40/30/30";
  options.seed = 3;
  save_dataset(test::tiny_dataset(), options.dataset);
  const Ids want = load_run(options, device()).task.split.train.to(kCpu).to_vector<std::int64_t>();
  for (const NodeOrder order : kOrders) {
    options.reorder = order;
    const NodeTask task = load_run(options, device()).task;
    EXPECT_EQ(in_file(task, task.split.train), want) << name(order);
    EXPECT_NE(task.split.train.to(kCpu).to_vector<std::int64_t>(), want) << name(order);
  }
}

TEST_P(TrainReorder, WeightsPredictTheFilesNodesAndTheLogTellsTheOrder) {
  const test::TempDir dir;
  TrainOptions options = steady("gcn", NodeOrder::kRabbit);
  options.dataset = dir / "tiny.h5";
  options.checkpoint = dir / "ck";
  options.log = dir / "run.jsonl";
  options.report = dir / "run.html";
  save_dataset(test::tiny_dataset(), options.dataset);
  Trained trained;
  {
    Recorder recorder(options);
    trained = train(load_run(options, device()), options, &recorder);
  }
  std::string log = read_file(options.log, 1 << 20);
  const auto start = nlohmann::json::parse(log.substr(0, log.find('\n')));
  EXPECT_EQ(start["config"]["reorder"], "rabbit");
  EXPECT_EQ(start["reorder"]["by"], "rabbit");
  EXPECT_GE(start["reorder"]["ms"].get<double>(), 0);
  EXPECT_NE(read_file(options.report, 10 << 20).find(trained.task.reorder.substr(0, 13)), std::string::npos);

  // After the last epoch, which the checkpoint is of.
  const std::string weights = dir / "ck/epoch-000015/weights.safetensors";
  predict({.dataset = options.dataset,
           .weights = weights,
           .out = dir / "pred.h5",
           .device = str(device()),
           .quiet = true});
  const Ids taken_for = Hdf5File(dir / "pred.h5").array("class").read(DType::kI64).to_vector<std::int64_t>();
  const std::vector<double> logits = test::doubles(trained.logits);
  const std::size_t classes = logits.size() / taken_for.size();
  for (std::size_t i = 0; i < taken_for.size(); ++i)
    for (std::size_t j = 0; j < classes; ++j)
      EXPECT_LE(logits[i * classes + j], logits[i * classes + static_cast<std::size_t>(taken_for[i])] + 1e-4)
          << "node " << i;
}

TEST_P(TrainReorder, ARunGoesOnInItsOrderAndInNoOther) {
  const test::TempDir dir;
  TrainOptions options = published_options("gcn");
  options.spmm = SpmmAlgorithm::kRode;
  options.dataset = dir / "tiny.h5";
  options.reorder = NodeOrder::kRabbit;
  options.epochs = 20;
  save_dataset(test::tiny_dataset(), options.dataset);
  const Trained whole = train(load_run(options, device()), options);
  options.checkpoint = dir / "ck";
  options.epochs = 10;
  const auto part = [&] {
    Recorder recorder(options);
    return train(load_run(options, device()), options, &recorder);
  };
  part();
  options.epochs = 20;
  options.resume = true;
  options.reorder = NodeOrder::kRcm;
  EXPECT_ERROR(part(), dir /
                           "ck: the checkpoint of epoch 10: was trained with --reorder \"rabbit\", not with "
                           "\"rcm\": a run is resumed with the options it began with");
  options.reorder = NodeOrder::kRabbit;
  EXPECT_TRUE(test::same_bits(part().logits, whole.logits));
}

}  // namespace
}  // namespace rodeo
