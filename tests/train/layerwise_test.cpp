#include "train/task/layerwise.h"

#include <algorithm>

#include "datasets/synthetic.h"
#include "models/sage.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

class TrainLayerwise : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainLayerwise);

/// 300 nodes of very different degrees, some without edges.
Dataset small_graph() {
  SyntheticOptions size;
  size.nodes = 300;
  size.edges = 700;
  size.features = 12;
  size.classes = 4;
  size.train_per_class = 10;
  size.val = size.test = 60;
  return synthesize(size);
}

std::vector<double> evaluate(const NodeRun& run) {
  const NoGrad no_grad;
  run.model.module->eval();
  return run.model.forward().value().to(DType::kF64).to_vector<double>();
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const double value : want) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 2e-5 * largest) << what << ", element " << i;
}

/// The logits of a run with --batch must be those of the same weights over the whole graph.
void expect_full_batch_logits(TrainOptions options, Device device, const std::string& what) {
  options.batch = 0;
  // The trunk has the names of the weights that --batch trains.
  if (options.model != "sage") options.trunk.activation = TrunkActivation::kGelu;
  const NodeRun whole = make_run(small_graph(), options, device);
  options.batch = 50;
  const NodeRun batches = make_run(small_graph(), options, device);
  batches.model.module->load_state_dict(whole.model.module->state_dict());
  expect_near(evaluate(batches), evaluate(whole), what);
}

TEST_P(TrainLayerwise, LogitsAreThoseOfTheWholeGraph) {
  for (const char* model : {"sage", "gcn", "gat", "gatv2", "transformer", "gin"})
    expect_full_batch_logits(published_options(model), device(), model);
}

TEST_P(TrainLayerwise, PartsOfTheTrunkAreThere) {
  for (const TrunkJump jump :
       {TrunkJump::kNone, TrunkJump::kLast, TrunkJump::kCat, TrunkJump::kMax, TrunkJump::kSum})
    for (const char* model : {"gcn", "gat"}) {
      TrainOptions options = published_options(model);
      options.layers = 3;
      options.trunk.norm = TrunkNorm::kBatch;
      options.trunk.residual = true;
      options.trunk.pre_linear = 2;
      options.trunk.pre_linear_norm = jump == TrunkJump::kCat;
      options.trunk.post_linear = true;
      options.trunk.jump = jump;
      expect_full_batch_logits(options, device(), str(model, " ", name(jump)));
    }
}

// Rows of 2, 0, 5, 1 and 1 edges. The size of a chunk is its rows and edges; a row is never cut.
TEST_P(TrainLayerwise, ChunksAreFilledToTheirEdge) {
  const Csr rows{5, 5, Tensor::from<std::int64_t>({0, 2, 2, 7, 8, 9}, device()),
                 Tensor::from<std::int32_t>({0, 1, 0, 1, 2, 3, 4, 3, 4}, device())};
  const Adjacency graph{rows};
  LayerwiseModel model;
  model.layers.emplace_back([](const Block&, const Features& h, const Variable&) { return h.input(); });
  const auto chunks = [&](std::int64_t chunk) {
    return LayerwiseEvaluation(graph, Tensor::zeros({5, 1}, DType::kF32, device()), model, chunk)
        .num_chunks();
  };
  EXPECT_EQ(chunks(14), 1);  // 3 + 1 + 6 + 2 + 2
  EXPECT_EQ(chunks(13), 2);  // 3 + 1 + 6 + 2, 2
  EXPECT_EQ(chunks(10), 2);  // 3 + 1 + 6, 2 + 2
  EXPECT_EQ(chunks(9), 3);   // 3 + 1, 6 + 2, 2
  EXPECT_EQ(chunks(4), 3);   // 3 + 1, 6, 2 + 2
  EXPECT_EQ(chunks(3), 5);
}

TEST_P(TrainLayerwise, ChunksOfAnySizeGiveTheSameLogits) {
  const Dataset data = small_graph();
  const Adjacency graph = to_graph(data, device()).adj;
  const auto row_ptr = graph.csr().row_ptr.to_vector<std::int64_t>();
  ASSERT_NE(std::ranges::adjacent_find(row_ptr), row_ptr.end()) << "no node without edges";
  const Tensor x = dense_features(data).to(device());
  Sage sage({.in = data.num_features, .hidden = 16, .classes = 4, .layers = 3}, Random(1), device());
  sage.eval();
  const auto whole = sage.forward(graph, Features(x)).value().to(DType::kF64).to_vector<double>();
  LayerwiseModel model;
  for (int i = 0; i < sage.num_layers(); ++i)
    model.layers.emplace_back([&sage, i](const Block& block, const Features& h, const Variable&) {
      return sage.evaluate_layer(i, block.adj, h);
    });
  std::int64_t chunks = 1 << 30;
  for (const std::int64_t chunk : {1, 7, 100, 400, 1 << 20}) {  // the rows of hubs are longer than some
    const LayerwiseEvaluation layerwise(graph, x, model, chunk);
    EXPECT_LT(layerwise.num_chunks(), chunks);
    chunks = layerwise.num_chunks();
    if (chunk == 1) {
      EXPECT_EQ(chunks, graph.rows());
    }
    expect_near(layerwise.logits().value().to(DType::kF64).to_vector<double>(), whole,
                str("chunks of ", chunk));
    EXPECT_EQ(layerwise.logits().value().to(DType::kF64).to_vector<double>(),
              layerwise.logits().value().to(DType::kF64).to_vector<double>());
  }
  EXPECT_EQ(chunks, 1);
  EXPECT_ERROR(LayerwiseEvaluation(graph, x, model, 0),
               "[layerwise] a chunk must have at least 1 row, got 0");
  EXPECT_ERROR(LayerwiseEvaluation(graph, x, {}), "[layerwise] the model has no layers");
  sage.train();
  EXPECT_ERROR(LayerwiseEvaluation(graph, x, model).logits(),
               "[sage] evaluate_layer is for evaluation mode: call eval() first");
}

TEST_P(TrainLayerwise, SampledEvaluation) {
  TrainOptions options = published_options("sage");
  options.batch = 25;
  options.fanout = "-1,-1";
  const NodeRun exact = make_run(small_graph(), options, device());
  options.eval_sampled = true;
  const NodeRun all = make_run(small_graph(), options, device());
  options.fanout = "2,2";
  const NodeRun some = make_run(small_graph(), options, device());
  const auto of_exact = evaluate(exact), of_all = evaluate(all), of_some = evaluate(some);
  EXPECT_EQ(of_some, evaluate(some)) << "samples are the same in every evaluation";
  EXPECT_NE(of_some, of_all);
  std::vector<bool> is_labelled(300);
  const Split& split = exact.task.split;
  for (const Tensor& part : {split.train, split.val, split.test})
    for (const std::int64_t node : part.to_vector<std::int64_t>()) is_labelled[node] = true;
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    EXPECT_NEAR(of_all[i], is_labelled[i / 4] ? of_exact[i] : 0, 1e-4) << "node " << i / 4;
  }
}

// Batches of the nodes that are asked for, each once, from samples that training does not draw.
TEST(TrainSampledLogits, AreOfTheNodesAndOfEpochZero) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < 30; ++j) row.push_back(i), col.push_back(j);
  const Adjacency graph = coo_to_csr(Tensor::from(row), Tensor::from(col), 30, 30).adj;
  const auto ids = [](std::vector<std::int64_t> of) { return Tensor::from(of); };
  const MiniBatchTraining training{.batches = {ids({0}), 30, 2, 1},
                                   .sampler = NeighborSampler(graph, {.fanout = {3}, .seed = 5}),
                                   .batch_size = 2};
  std::vector<std::vector<std::int64_t>> sampled;
  const auto forward = [&](const SampledBatch& batch) {
    sampled.push_back(batch.inputs().to_vector<std::int64_t>());
    const Tensor logits = Tensor::zeros({batch.inputs().numel(), 1});  // of rows behind the targets, too
    for (std::int64_t i = 0; i < batch.targets.numel(); ++i)
      logits.data<float>()[i] = static_cast<float>(batch.targets.data<std::int64_t>()[i]);
    return Variable(logits);
  };
  for (int call = 0; call < 2; ++call) {
    const Variable logits = sampled_logits(training, forward, {ids({7, 3}), ids({3, 9})}, 11);
    EXPECT_EQ(logits.value().to_vector<float>(), (std::vector<float>{0, 0, 0, 3, 0, 0, 0, 7, 0, 9, 0}));
  }
  ASSERT_EQ(sampled.size(), 4U);
  EXPECT_EQ(sampled[0], sampled[2]);
  for (std::int64_t at = 0; at < 2; ++at) {
    const Tensor targets = at == 0 ? ids({3, 7}) : ids({9});
    const auto of = [&](std::int64_t epoch) {
      return training.sampler.sample(targets, epoch, at).inputs().to_vector<std::int64_t>();
    };
    EXPECT_EQ(sampled[static_cast<std::size_t>(at)], of(0));
    EXPECT_NE(sampled[static_cast<std::size_t>(at)], of(1));
  }
}

}  // namespace
}  // namespace rodeo::test
