// --features-on peers and --graph-on peers: what is cut among ranks has the bits of what every rank has.
#include "ops/peer_rows.h"

#include <gtest/gtest.h>

#include "ops/all_rows.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/row_cache.h"
#include "tests/ranks/trained.h"
#include "tests/support/tiny.h"
#include "train/task/hottest_rows.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::ranks;
using test::train;

Tensor features(std::int64_t rows, DType dtype) {
  return uniform({rows, 5}, -1, 1, {7, 0}, DType::kF32, test::device()).to(dtype);
}

PeerRows cut(const Tensor& x) {
  const auto nodes = equal_parts(x.dim(0), ranks());
  return {x.slice(nodes->first_row(), nodes->first_row() + nodes->num_rows()).clone(), nodes};
}

/// Another number of rows on each rank, in no order and repeated; none on the last rank.
std::vector<std::int64_t> index_of_rank(std::int64_t rows) {
  std::vector<std::int64_t> index;
  const int rank = ranks().rank();
  if (rank == ranks().size() - 1) return index;
  for (std::int64_t i = 0; i < 20 + 7 * rank; ++i) index.push_back((i * i * 5 + rank) % rows);
  return index;
}

TEST(TrainRankPeers, RowsAreThoseOfTheWholeMatrix) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
    for (const std::int64_t rows : {1, 3, 40, 101}) {
      SCOPED_TRACE(str(rows, " rows ", dtype));
      const Tensor x = features(rows, dtype), index = Tensor::from(index_of_rank(rows), test::device());
      PeerRows peers = cut(x);
      EXPECT_EQ(peers.shape(), x.shape());
      EXPECT_LE(peers.own().dim(0), (rows + ranks().size() - 1) / ranks().size());
      EXPECT_TRUE(test::same_bits(peers.read(index), gather_rows(x, index)));

      std::vector<std::int32_t> reads(static_cast<std::size_t>(rows));
      for (std::size_t i = 0; i < reads.size(); ++i)  // another cache on each rank
        reads[i] = static_cast<std::int32_t>(i * 37 % reads.size()) * (ranks().rank() % 2 == 0 ? 1 : -1);
      peers.set_cache(cache_rows(x, reads, rows / 3));
      EXPECT_TRUE(test::same_bits(peers.read(index), gather_rows(x, index))) << "with a cache";
      const Tensor all = Tensor::empty(x.shape(), dtype, test::device());
      std::vector<std::int64_t> every;
      for (std::int64_t i = 0; i < rows; ++i) every.push_back(i);
      peers.read_in_pieces(Tensor::from(every, test::device()), all);
      EXPECT_TRUE(test::same_bits(all, x));
    }
}

// Ranks have different numbers of chunks, and read in each of them.
TEST(TrainRankPeers, ExactEvaluationsReadRowsOfPeers) {
  const Dataset data = test::tiny_dataset();
  const Adjacency graph = to_graph(data, test::device()).adj;
  const Tensor x = dense_features(data).to(test::device());
  const PeerRows peers = cut(x);
  for (const bool inputs : {false, true})
    for (const std::int64_t chunk : {1, 300, 900, 100'000}) {
      LayerwiseModel model;
      model.read_inputs = [&](const Tensor& index) { return [&peers, index] { return peers.read(index); }; };
      if (inputs) model.inputs = [](const Features& rows) { return rows.dense(); };
      for (int layer = 0; layer < 2; ++layer)
        model.layers.emplace_back([](const Block& block, const Features& h, const Variable&) {
          return Variable(h.input().value().slice(0, block.adj.rows()).clone());
        });
      const LayerwiseEvaluation evaluation(graph, peers.own(), std::move(model), chunk, ranks());
      EXPECT_TRUE(test::same_bits(evaluation.logits().value(), x)) << inputs << " " << chunk;
    }
}

TrainOptions peer_options(std::string_view model, TaskKind task = TaskKind::kNode) {
  TrainOptions options = published_options(model, task);
  options.epochs = 3;
  options.batch = 32;
  options.fanout = "4,3";
  if (task == TaskKind::kLink) options.hidden = options.embedding = 16;
  return options;
}

void expect_as_on_device(TrainOptions options) {
  options.features_on = FeaturesOn::kDevice;
  const test::Trained want = train(test::tiny_dataset(), options, ranks());
  options.features_on = FeaturesOn::kPeers;
  for (const std::int64_t cache_mib : {0, 1}) {
    options.feature_cache_mib = cache_mib;
    const test::Trained got = train(test::tiny_dataset(), options, ranks());
    EXPECT_EQ(got.losses, want.losses);
    EXPECT_EQ(got.summary.last.val_loss, want.summary.last.val_loss);
    EXPECT_EQ(got.summary.last.test, want.summary.last.test);
    test::expect_same_bits(got.weights, want.weights);
  }
}

// Batches of 1 and 2: some ranks have no examples, and read all the same.
TEST(TrainRankPeers, TrainingHasTheBitsOfFeaturesOnTheDevice) {
  RODEO_NEEDS_TWO_RANKS();
  const auto with = [](std::string_view what, std::string_view model,
                       const std::function<void(TrainOptions&)>& set, TaskKind task = TaskKind::kNode) {
    SCOPED_TRACE(what);
    TrainOptions options = peer_options(model, task);
    set(options);
    expect_as_on_device(options);
  };
  for (const std::string_view model : {"sage", "gcn", "gat"}) with(model, model, [](TrainOptions&) {});
  with("bf16", "sage", [](TrainOptions& o) { o.precision = Precision::kBf16; });
  with("batches of 1", "sage", [](TrainOptions& o) { o.batch = 1, o.epochs = 1; });
  with("a trunk", "gcn", [](TrainOptions& o) { o.trunk.pre_linear = 1, o.trunk.residual = true; });
  with("samples", "sage", [](TrainOptions& o) { o.eval_sampled = true, o.batch = 41; });
  with("parts", "gcn", [](TrainOptions& o) { o.batch_by_parts = true, o.batch = 70, o.fanout.clear(); });
  with("an order", "gcn", [](TrainOptions& o) { o.reorder = NodeOrder::kDegree; });
  with("standardised", "sage", [](TrainOptions& o) { o.normalize_features = FeatureScaling::kStandard; });
  with(
      "links", "sage", [](TrainOptions& o) { o.batch = 40; }, TaskKind::kLink);
}

/// The ranks have other rows than those of equal parts: the last one has the rest.
Adjacency cut(const Adjacency& graph) {
  const std::int64_t size = ranks().size(), rows = graph.rows() / size / 4 * 4;
  std::vector<std::int64_t> of_ranks(static_cast<std::size_t>(size), rows);
  of_ranks.back() = graph.rows() - rows * (size - 1);
  return cut_graph(graph, std::make_shared<const NodePartition>(ranks(), of_ranks));
}

void expect_same_batch(const SampledBatch& got, const SampledBatch& want) {
  ASSERT_EQ(got.blocks.size(), want.blocks.size());
  for (std::size_t l = 0; l < want.blocks.size(); ++l) {
    const Block &a = got.blocks[l], &b = want.blocks[l];
    EXPECT_TRUE(test::same_bits(a.adj.csr().row_ptr, b.adj.csr().row_ptr));
    EXPECT_TRUE(test::same_bits(a.adj.csr().col, b.adj.csr().col));
    EXPECT_TRUE(test::same_bits(a.edge_ids, b.edge_ids));
    EXPECT_TRUE(test::same_bits(a.sources, b.sources));
  }
}

// The last rank has no targets, and exchanges all the same.
TEST(TrainRankPeers, SamplesAreThoseOfTheWholeGraph) {
  const Adjacency whole = to_graph(test::tiny_dataset(), test::device()).adj, own = cut(whole);
  const AllRows known = all_rows(own);
  EXPECT_EQ(known.nodes, whole.rows());
  EXPECT_EQ(known.edges, whole.num_edges());
  EXPECT_TRUE(test::same_bits(known.row_ptr, whole.csr().row_ptr));
  EXPECT_LE(own.num_edges() * ranks().size(), 1.5 * static_cast<double>(whole.num_edges()));
  for (const NeighborSamplerOptions& options :
       {NeighborSamplerOptions{{4, 3}}, NeighborSamplerOptions{{3, kAllNeighbors, 2}},
        NeighborSamplerOptions{{5, 40}, true, 9}}) {
    const NeighborSampler got(own, options), want(whole, options);
    std::vector<std::int64_t> targets;
    if (ranks().size() == 1 || ranks().rank() + 1 < ranks().size())
      for (std::int64_t i = 0; i < 20; ++i) targets.push_back((i * 7 + ranks().rank()) % whole.rows());
    const Tensor t = Tensor::from(targets, test::device());
    for (const std::int64_t batch : {0, 3})
      expect_same_batch(got.sample(t, 1, batch), want.sample(t, 1, batch));
  }
}

// Labels over -1 are of all nodes, evaluations of chunks, some of which ranks compute for nobody.
TEST(TrainRankPeers, TrainingHasTheBitsOfAGraphOnTheDevice) {
  RODEO_NEEDS_TWO_RANKS();
  const auto with = [](std::string_view what, std::string_view model,
                       const std::function<void(TrainOptions&)>& set) {
    SCOPED_TRACE(what);
    TrainOptions options = peer_options(model);
    options.graph_on = GraphOn::kDevice, options.features_on = FeaturesOn::kDevice;
    set(options);
    const test::Trained want = train(test::tiny_dataset(), options, ranks());
    options.graph_on = GraphOn::kPeers;
    for (const FeaturesOn features : {FeaturesOn::kDevice, FeaturesOn::kHost, FeaturesOn::kPeers}) {
      options.features_on = features;
      options.feature_cache_mib = features == FeaturesOn::kDevice ? -1 : 1;
      const test::Trained got = train(test::tiny_dataset(), options, ranks());
      EXPECT_EQ(got.losses, want.losses);
      EXPECT_EQ(got.summary.last.val_loss, want.summary.last.val_loss);
      test::expect_same_bits(got.weights, want.weights);
    }
  };
  for (const std::string_view model : {"sage", "gcn", "gat"}) with(model, model, [](TrainOptions&) {});
  with("batches of 1", "sage", [](TrainOptions& o) { o.batch = 1, o.epochs = 1; });
  with("samples", "gcn", [](TrainOptions& o) { o.eval_sampled = true, o.batch = 41; });
  with("all neighbours", "sage", [](TrainOptions& o) { o.fanout = "-1,5", o.undirected = true; });
  with("an order", "gcn", [](TrainOptions& o) { o.reorder = NodeOrder::kDegree; });
  with("a trunk", "gcn", [](TrainOptions& o) { o.trunk.pre_linear = 1, o.trunk.residual = true; });
  with("no edges", "mlp", [](TrainOptions&) {});
}

TEST(TrainRankPeers, ARankHoldsItsPart) {
  RODEO_NEEDS_TWO_RANKS();
  const std::int64_t nodes = test::tiny_dataset().num_nodes, size = ranks().size();
  TrainOptions options = peer_options("sage");
  options.features_on = FeaturesOn::kPeers, options.feature_cache_mib = 0;
  const NodeRun run = make_run(test::tiny_dataset(), options, test::device(), ranks());
  EXPECT_LE(run.task.x.input().value().dim(0), (nodes + size - 1) / size);
  EXPECT_FALSE(run.model.mini_batches->x.defined());
  EXPECT_EQ(run.model.mini_batches->features.find(str("cut among ", size, " ranks, ")), 0);
  EXPECT_NE(run.task.places.find(str("features cut among ", size, " ranks, ")), std::string::npos);
  EXPECT_EQ(run.model.adj.num_edges(), run.task.num_edges);
  options.graph_on = GraphOn::kPeers;
  const NodeRun cut_graph = make_run(test::tiny_dataset(), options, test::device(), ranks());
  EXPECT_LT(cut_graph.model.adj.num_edges(), 0.7 * static_cast<double>(run.task.num_edges));
  EXPECT_EQ(cut_graph.task.num_edges, run.task.num_edges);
  EXPECT_EQ(cut_graph.task.places.find(str("graph cut among ", size, " ranks, features cut among ")), 0)
      << cut_graph.task.places;
  options.graph_on = GraphOn::kAuto;
  options.feature_cache_mib = 1;
  const NodeRun cached = make_run(test::tiny_dataset(), options, test::device(), ranks());
  EXPECT_NE(cached.model.mini_batches->features.find("% of the other rows too, for 100.0 % of their reads"),
            std::string::npos)
      << cached.model.mini_batches->features;
}

}  // namespace
}  // namespace rodeo
