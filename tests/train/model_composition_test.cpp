// What composing a model from one trunk gives: each combination against a form that exists.
#include <gtest/gtest.h>

#include <map>

#include "datasets/neighbor_sampler.h"
#include "datasets/synthetic_graphs.h"
#include "layers/gcn2_conv.h"
#include "layers/node_conv.h"
#include "layers/pna_conv.h"
#include "models/trunk.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/segment_reduce.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/task/trunk_model.h"

namespace rodeo::test {
namespace {

class TrainModelComposition : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainModelComposition);

/// A small graph with edge features of three columns, and edge weights.
Dataset featured_edges() {
  Dataset data = tiny_dataset(120);
  data.edge_attr = random_tensor({data.num_edges(), 3}, DType::kF32, kCpu, 5);
  return data;
}

std::vector<double> losses(const Dataset& data, const TrainOptions& options, Device device) {
  const NodeRun run = make_run(data, options, device);
  Trainer trainer = make_trainer(run, trainer_options(options));
  std::vector<double> out;
  trainer.fit([&](const EpochReport& report) { out.push_back(report.loss); });
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, const std::string& what,
                 double tolerance = 2e-4) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * want[0]) << what << ", " << i;
}

using Given = std::vector<std::pair<const char*, const char*>>;

void apply(const Given& given, TrainOptions& options) {
  std::vector<GivenOption> all;
  for (const auto& [name, text] : given) all.push_back({name, text, ""});
  apply_options(all, options);
}

/// Without masks, which differ between the forms.
TrainOptions options_of(std::string_view model, const Given& given = {}) {
  TrainOptions options = published_options(model);
  options.dropout = options.attention_dropout = 0;
  options.epochs = 8;
  apply(given, options);
  return options;
}

TEST_P(TrainModelComposition, PrunedRowsTrainLikeAllRows) {
  const std::pair<const char*, Given> cases[] = {
      {"gcn", {{"norm", "layer"}, {"residual", "true"}, {"jk", "cat"}}},
      {"gcn", {{"norm", "batch"}, {"input-dropout", "0"}}},
      {"gat", {}},
      {"gat", {{"jk", "max"}, {"act", "gelu"}, {"residual", "true"}}},
      {"gatv2", {}},
      {"gatv2", {{"edge-features", "true"}}},
      {"transformer", {{"edge-features", "true"}}},
      {"sage", {}},
      {"sage", {{"aggr", "max"}, {"post-linear", "true"}, {"residual", "true"}}},
      {"sgc", {{"features", "dense"}}},
      {"sgc", {{"features", "sparse"}, {"hops", "3"}}},
      {"appnp", {}}};
  Dataset data = featured_edges();
  data.split.train = data.split.train.slice(0, 20);
  for (const auto& [model, given] : cases) {
    TrainOptions options = options_of(model, given);
    const std::vector<double> whole = losses(data, options, device());
    options.prune_rows = true;
    expect_near(losses(data, options, device()), whole, str(model, ", ", given.size(), " options"));
  }
}

// Edge ids of a block index the features of the graph's edges, in training and in layerwise evaluation.
TEST_P(TrainModelComposition, EdgeFeaturesInBatches) {
  Dataset data = featured_edges();
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < data.num_nodes; ++i) all.push_back(i);
  data.split.train = Tensor::from(all);  // GINE normalises over all nodes of a batch
  for (const char* model : {"gin", "gatv2", "transformer"})
    for (const bool norm : {false, true}) {
      Given given{{"edge-features", "true"}, {"trunk", "true"}};
      if (norm) given.insert(given.end(), {{"norm", "layer"}, {"residual", "true"}});
      TrainOptions options = options_of(model, given);
      const std::vector<double> whole = losses(data, options, device());
      const NodeRun one = make_run(data, options, device());
      apply({{"batch", "1000"}, {"fanout", "-1,-1"}}, options);
      expect_near(losses(data, options, device()), whole, model, 1e-3);
      const NodeRun layerwise = make_run(data, options, device());
      layerwise.model.module->load_state_dict(one.model.module->state_dict());
      const NoGrad no_grad;
      one.model.module->eval();
      layerwise.model.module->eval();
      EXPECT_TRUE(near(layerwise.model.forward().value(), doubles(one.model.forward().value()), 1e-4, 1e-4))
          << model;
    }
}

TEST_P(TrainModelComposition, EdgeFeaturesInPartsOfATrunk) {
  Dataset data = featured_edges();
  Dataset other = data;
  other.edge_attr = Tensor::zeros({data.num_edges(), 3});
  for (const char* model : {"gin", "gatv2", "transformer"}) {
    const TrainOptions options = options_of(
        model, {{"edge-features", "true"}, {"norm", "batch"}, {"residual", "true"}, {"jk", "cat"}});
    ASSERT_TRUE(uses_trunk(options));
    const std::vector<double> got = losses(data, options, device());
    EXPECT_LT(got.back(), got.front()) << model;
    EXPECT_NE(got, losses(other, options, device())) << model;
  }
}

TEST_P(TrainModelComposition, PartsOfATrunkClassifyGraphs) {
  for (const char* model : {"gin", "gcn"}) {
    TrainOptions options = published_options(model, TaskKind::kGraph);
    options.epochs = 30, options.batch_graphs = 32, options.fold = 0, options.layers = 3,
    options.dropout = 0.2;
    apply({{"norm", "batch"}, {"residual", "true"}, {"jk", "cat"}, {"pool", "mean"}, {"act", "gelu"}},
          options);
    ASSERT_TRUE(uses_trunk(options));
    const Dataset data = synthesize_graphs({.graphs = 90});
    const std::vector<double> one = losses(data, options, device());
    EXPECT_LT(one.back(), 0.95 * one.front()) << model;
    EXPECT_EQ(one, losses(data, options, device())) << model << ": other bits";
    const NodeRun run = make_run(data, options, device());
    EXPECT_NE(run.model.text.find("batch norm, residual"), std::string::npos) << run.model.text;
    EXPECT_NE(run.model.text.find("mean pooling"), std::string::npos) << run.model.text;
  }
}

// The published classifier of graphs, from its layers.
TEST_P(TrainModelComposition, AGraphClassifierByItsFormula) {
  const GcnGraph graph = small_gcn_graph(device());
  const Variable x = random_variable({12, 6}, device());
  const Tensor offsets = Tensor::from(std::vector<std::int64_t>{0, 5, 12}, device());
  static constexpr TrunkPreset kPreset{.name = "graphs", .keys = TrunkKeys::kWithDropout};
  TrunkOptions options{.in = 6,
                       .hidden = 4,
                       .classes = 3,
                       .dropout = 0,
                       .preset = &kPreset,
                       .pool = PoolKind::kSum,
                       .pool_dropout = 0};
  Trunk gcn(options, Random(3), device(), DType::kF64);
  std::map<std::string, Variable> p;
  for (auto& [name, parameter] : gcn.named_parameters()) p[name] = parameter;
  const auto affine = [&](const Variable& h, const std::string& name) {
    return add_bias(matmul(h, p.at(name + ".weight")), p.at(name + ".bias"));
  };
  Variable h = x;
  for (const char* conv : {"conv1", "conv2"})
    h = relu(
        add_bias(propagate(graph, matmul(h, p.at(str(conv, ".lin.weight"))), {}), p.at(str(conv, ".bias"))));
  const Variable pooled(segment_reduce(h.value(), offsets, Reduce::kSum));
  const Variable want = affine(relu(affine(pooled, "lin1")), "lin2");
  EXPECT_TRUE(near(gcn.forward(graph, x, offsets).value(), doubles(want.value()), 1e-12));
  EXPECT_ERROR(gcn.forward(graph, x), "[trunk] a trunk with a pool reads the offsets of graphs");
  options.pool_dropout = 0.5;
  Trunk drops(options, Random(3), device(), DType::kF64);
  const auto is_as_without = [&] {
    return near(drops.forward(graph, x, offsets).value(), doubles(want.value()), 1e-12);
  };
  EXPECT_FALSE(is_as_without());
  drops.eval();
  EXPECT_TRUE(is_as_without());
}

/// y_i = W (x_i + mean over the neighbours j of x_j): what a caller writes for a layer of a trunk.
class OwnConv : public Convolution {
 public:
  OwnConv(const ConvOptions& options, Random& random, Device device, DType dtype)
      : lin_(options.in, options.out, random, options.bias, device, dtype), width_(options.out) {
    register_module("lin", &lin_);
  }
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override {
    const Variable h = x.dense(), own = destinations(graph, h).dense();
    SpmmOptions mean = call.spmm;
    mean.reduce = Reduce::kMean;
    return rodeo::apply(lin_.forward(add(own, spmm(graph.adj, h, mean))), call.then);
  }
  std::int64_t width() const override { return width_; }

 private:
  Linear lin_;
  std::int64_t width_;
};

constexpr ConvKind kOwn{.name = "own",
                        .traits = {},
                        .make = [](const ConvOptions& o, Random& random, Device device,
                                   DType dtype) -> std::unique_ptr<Convolution> {
                          return std::make_unique<OwnConv>(o, random, device, dtype);
                        }};

TEST_P(TrainModelComposition, ATrunkOfTheCallersLayer) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  const Variable x = random_variable({12, 6}, device());
  const TrunkOptions options{.in = 6,
                             .hidden = 4,
                             .classes = 3,
                             .dropout = 0,
                             .conv = &kOwn,
                             .parts = {.norm = TrunkNorm::kLayer, .residual = true, .jump = TrunkJump::kCat}};
  Trunk trunk(options, Random(3), device(), DType::kF64);
  const Variable all = trunk.forward(adj, x);
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{3, 9}, device());
  const std::vector<double> want = doubles(take(all.value(), rows));
  EXPECT_TRUE(near(trunk.forward(adj, x, select_destinations(adj, rows)).value(), want, 1e-12));
  const SampledBatch batch = NeighborSampler(adj, {.fanout = {kAllNeighbors, kAllNeighbors}}).sample(rows);
  std::vector<ConvGraph> blocks;
  for (const Block& block : batch.blocks) blocks.emplace_back(GcnBlock{block.adj, {}, {}, {}});
  const Features inputs(Variable(take(x.value(), batch.inputs())));
  EXPECT_TRUE(near(trunk.forward(blocks, inputs).value(), want, 1e-12));
}

/// A graph without self loops, and its normalised form.
ConvGraph form_of(const ConvKind& kind, Device device) {
  const GcnGraph graph = small_gcn_graph(device);
  return kind.traits.graph == GraphInput::kGcnNorm ? ConvGraph(graph) : ConvGraph(graph.adj);
}

// Blocks with all neighbours, selected rows, and one layer after the other are the whole graph.
TEST_P(TrainModelComposition, FormsOfTrunksWithAnInitialResidualAreTheWholeGraph) {
  const Tensor targets = Tensor::from(std::vector<std::int64_t>{3, 9}, device());
  const Variable x = random_variable({12, 6}, device());
  for (const ConvKind* kind : {&kGcn2, &kPna, &kMlp}) {
    const ConvGraph whole = form_of(*kind, device());
    Trunk trunk({.in = 6,
                 .hidden = 4,
                 .classes = 3,
                 .layers = 3,
                 .conv = kind,
                 .parts = {.norm = TrunkNorm::kLayer, .pre_linear = 1, .post_linear = true},
                 .layer = {.alpha = 0.3, .lambda = 1}},
                Random(3), device(), DType::kF64);
    trunk.eval();
    const Variable all = trunk.forward(whole, x);
    const std::vector<double> want = doubles(take(all.value(), targets));
    EXPECT_TRUE(near(trunk.forward(whole, x, select_destinations(whole, targets)).value(), want, 1e-12))
        << kind->name;
    const SampledBatch batch =
        NeighborSampler(whole.adj, {.fanout = {kAllNeighbors, kAllNeighbors, kAllNeighbors}}).sample(targets);
    std::vector<ConvGraph> blocks;
    const GcnGraph normalized{whole.adj, whole.weight, whole.row_scale};
    for (const Block& block : batch.blocks)
      blocks.emplace_back(whole.row_scale.defined() ? gcn_block(normalized, row_degrees(normalized),
                                                                block.adj, block.edge_ids, block.sources)
                                                    : GcnBlock{block.adj, {}, {}, {}});
    const Features inputs(Variable(take(x.value(), batch.inputs())));
    EXPECT_TRUE(near(trunk.forward(blocks, inputs).value(), want, 1e-12)) << kind->name;
    const Variable initial = trunk.evaluate_inputs(x);
    Features h(initial);
    for (int i = 0; i < 3; ++i)
      h = trunk.evaluate_layer(i, whole, h, trunk.reads_initial() ? initial : Variable());
    EXPECT_TRUE(near(trunk.evaluate_outputs({h.dense()}).value(), doubles(all.value()), 1e-12)) << kind->name;
  }
  EXPECT_ERROR(Trunk({.in = 6, .classes = 3, .conv = &kGcn2}, Random()),
               "[trunk] gcn2 keeps the width of its input: it needs pre_linear > 0 and a classifier");
}

// Convolutions see selected rows as rows of the whole result.
TEST_P(TrainModelComposition, SelectedRowsOfEveryConvolution) {
  const GcnGraph graph = small_gcn_graph(device());
  const Features x(random_variable({12, 6}, device()));
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{7, 0, 11}, device());
  for (const ModelEntry& entry : model_registry()) {
    const ConvKind& kind = *entry.conv;
    Random random(4);
    const auto conv =
        kind.make({.in = 6, .out = 4, .heads = 2, .attention_dropout = 0}, random, device(), DType::kF64);
    conv->eval();
    const ConvGraph whole(graph);
    const Variable all = conv->convolve(whole, x, {}),
                   some = conv->convolve(select_destinations(whole, rows), x, {});
    EXPECT_EQ(some.dim(0), 3) << kind.name;
    EXPECT_TRUE(near(some.value(), doubles(take(all.value(), rows)), 1e-12)) << kind.name;
    EXPECT_EQ(conv->width() == 0 ? 6 : conv->width(), all.dim(1)) << kind.name;
  }
}

}  // namespace
}  // namespace rodeo::test
