#include "models/trunk.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random.h"
#include "datasets/synthetic.h"
#include "layers/drop_edge.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn2_conv.h"
#include "layers/gine_conv.h"
#include "layers/sage_conv.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/task/trunk_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class ModelsTrunk : public OnDevice {};
RODEO_ON_ALL_DEVICES(ModelsTrunk);

constexpr const ConvKind* kConvs[] = {&kGcn, &kGat, &kGatv2, &kSage, &kGin};

std::string parameter_names(Trunk& trunk) {
  std::string all;
  for (const auto& [name, parameter] : trunk.named_parameters()) all += str(name, parameter.shape(), " ");
  return all;
}

TEST(ModelsTrunkNames, AreThoseOfPyg) {
  Trunk gcn({.in = 6,
             .hidden = 4,
             .classes = 3,
             .parts = {.norm = TrunkNorm::kBatch, .residual = true, .jump = TrunkJump::kCat}},
            Random(1));
  const std::string names = parameter_names(gcn);
  for (const char* part : {"convs.0.lin.weight", "convs.0.bias", "norms.0.module.weight", "lins.0.weight",
                           "convs.1.lin.weight", "norms.1.module.bias", "lin.weight", "lin.bias"})
    EXPECT_NE(names.find(part), names.npos) << part << " in " << names;
  Trunk plain({.in = 6, .hidden = 4, .classes = 3, .parts = {.pre_linear = 1}}, Random(1));
  EXPECT_EQ(parameter_names(plain).find(" lin.weight"), std::string::npos);
  EXPECT_NE(parameter_names(plain).find("pre.0.weight"), std::string::npos);
}

TEST(ModelsTrunkNames, TheNetworkOfGinIsHiddenWideInTheLastLayerToo) {
  Trunk gin({.in = 6, .hidden = 4, .classes = 3, .layers = 1, .conv = &kGin}, Random(1));
  const std::string names = parameter_names(gin);
  EXPECT_NE(names.find("convs.0.nn.0.weight[6, 4] "), names.npos) << names;
  EXPECT_NE(names.find("convs.0.nn.3.weight[4, 3] "), names.npos) << names;
}

TEST(ModelsTrunkNames, ConvolutionsWithoutABias) {
  for (const ConvKind* conv : {&kGcn, &kGat, &kGatv2, &kSage}) {
    const TrunkOptions options{
        .in = 6, .hidden = 4, .classes = 3, .conv = conv, .parts = {.residual = true, .post_linear = true}};
    TrunkOptions without = options;
    without.parts.bias = false;
    Trunk with_bias(options, Random(1)), no_bias(without, Random(1));
    const std::string names = parameter_names(no_bias);
    const auto biases = [](Trunk& trunk) {
      return std::ranges::count_if(trunk.named_parameters(), [](const auto& p) {
        return p.first.starts_with("convs.") && p.first.ends_with("bias");
      });
    };
    EXPECT_EQ(biases(no_bias), 0) << conv->name << " " << names;
    EXPECT_GE(biases(with_bias), 2) << conv->name;
    EXPECT_NE(names.find("lins.0.bias"), names.npos) << names;
  }
}

// beta = log(lambda / l + 1), at most 1.
TEST_P(ModelsTrunk, BetaOfGcn2FallsWithTheLayer) {
  const ConvGraph graph(small_gcn_graph(device()));
  const auto betas_are = [&](double lambda, std::vector<double> betas) {
    Trunk trunk({.in = 6,
                 .hidden = 4,
                 .classes = 3,
                 .layers = 3,
                 .conv = &kGcn2,
                 .parts = {.pre_linear = 1, .post_linear = true},
                 .layer = {.alpha = 0.3, .lambda = lambda}},
                Random(3), device(), DType::kF64);
    trunk.eval();
    const Variable initial = random_variable({12, 4}, device(), 1), x = random_variable({12, 4}, device(), 2);
    for (int i = 0; i < 3; ++i) {
      Random random(0);
      Gcn2Conv conv(4, 0.3, betas[static_cast<std::size_t>(i)], random, device(), DType::kF64);
      for (const auto& [name, parameter] : trunk.named_parameters())
        if (name == str("convs.", i, ".weight1"))
          conv.parameters().front().value().copy_from(parameter.value());
      const Variable want = relu(conv.convolve(graph, x, {.initial = initial}));
      EXPECT_TRUE(near(trunk.evaluate_layer(i, graph, x, initial).value(), doubles(want.value()), 1e-12))
          << lambda << " " << i;
    }
  };
  betas_are(0.5, {std::log(1.5), std::log(1.25), std::log(0.5 / 3 + 1)});
  betas_are(2, {1, std::log(2), std::log(2.0 / 3 + 1)});
}

TEST_P(ModelsTrunk, GradientsOfEveryConvolutionAndPart) {
  const GcnGraph graph = small_gcn_graph(device());
  const TrunkParts all[] = {
      {.norm = TrunkNorm::kLayer, .residual = true, .activation = TrunkActivation::kGelu},
      {.norm = TrunkNorm::kBatch, .jump = TrunkJump::kCat, .activation = TrunkActivation::kElu},
      {.residual = true, .jump = TrunkJump::kSum, .pre_linear = 2, .activation = TrunkActivation::kElu},
      {.norm = TrunkNorm::kLayer, .pre_linear = 2, .pre_linear_norm = true},
      {.jump = TrunkJump::kMax, .activation = TrunkActivation::kGelu, .bias = false},
      {.post_linear = true, .activation = TrunkActivation::kElu}};
  for (const ConvKind* conv : kConvs)
    for (const TrunkParts& parts : all) {
      Trunk trunk({.in = 6, .hidden = 3, .classes = 4, .conv = conv, .parts = parts, .layer = {.heads = 2}},
                  Random(7), device(), DType::kF64);
      std::uint64_t seed = 20;
      for (Variable& p : trunk.parameters())
        p.set_value(random_tensor(p.shape(), DType::kF64, device(), ++seed));
      trunk.eval();  // without masks, which change from call to call
      EXPECT_TRUE(layer_gradients_ok(
          trunk, [&](const Variable& h) { return trunk.forward(graph, h); },
          random_variable({12, 6}, device())))
          << conv->name;
    }
}

TEST_P(ModelsTrunk, LearnsACommunityGraphWithTheSameBits) {
  const Dataset data = synthesize({.nodes = 400,
                                   .edges = 2000,
                                   .features = 20,
                                   .classes = 4,
                                   .label_noise = 0,
                                   .train_per_class = 20,
                                   .val = 100,
                                   .test = 200,
                                   .seed = 3});
  for (const ConvKind* conv : kConvs)
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      TrainOptions options = published_options(conv->name);
      options.normalize_features = FeatureScaling::kNone;
      options.precision = precision;
      options.layers = 3;
      options.trunk = {.norm = TrunkNorm::kLayer,
                       .residual = true,
                       .jump = TrunkJump::kLast,
                       .activation = TrunkActivation::kGelu};
      ASSERT_TRUE(uses_trunk(options));
      const auto run_once = [&] {
        const NodeRun run = make_run(data, options, device());
        Trainer trainer = make_trainer(run, {.epochs = 40});
        std::vector<double> losses;
        const TrainSummary summary =
            trainer.fit([&](const EpochReport& report) { losses.push_back(report.loss); });
        EXPECT_GE(summary.best.test, 0.8) << conv->name;
        EXPECT_LT(losses.back(), 0.8 * losses.front()) << conv->name;
        return losses;
      };
      EXPECT_EQ(run_once(), run_once()) << conv->name;
    }
}

// In evaluation mode a trunk without parts is the published GCN of the same weights.
TEST_P(ModelsTrunk, WithoutPartsIsAPlainGcn) {
  const GcnGraph graph = small_gcn_graph(device());
  const Tensor x = random_tensor({12, 5}, DType::kF64, device());
  Trunk trunk({.in = 5, .hidden = 4, .classes = 3, .dropout = 0}, Random(2), device(), DType::kF64);
  trunk.eval();
  const std::vector<Variable> p = trunk.parameters();
  ASSERT_EQ(p.size(), 4u);
  const Variable h = relu(add_bias(propagate(graph, matmul(Variable(x), p[0]), {}), p[1]));
  const Variable want = add_bias(propagate(graph, matmul(h, p[2]), {}), p[3]);
  EXPECT_TRUE(near(trunk.forward(graph, Features(x)).value(), doubles(want.value()), 1e-12));
}

TEST_P(ModelsTrunk, InputsAreDroppedAsHiddenOutputsUnlessToldOtherwise) {
  const GcnGraph graph = small_gcn_graph(device());
  const Tensor x = random_tensor({12, 5}, DType::kF64, device());
  const auto logits = [&](std::optional<double> input_dropout) {
    Trunk trunk({.in = 5, .classes = 3, .layers = 1, .dropout = 0.5, .input_dropout = input_dropout},
                Random(2), device(), DType::kF64);
    return trunk.forward(graph, Features(x)).value();
  };
  EXPECT_TRUE(same_bits(logits({}), logits(0.5)));
  EXPECT_FALSE(same_bits(logits({}), logits(0)));
}

// The products model of "Classic GNNs are strong baselines": the first linear layer's output is normalised.
TEST_P(ModelsTrunk, PreLinearLayersMayHaveNormAndActivation) {
  const GcnGraph graph = small_gcn_graph(device());
  const Tensor x = random_tensor({12, 5}, DType::kF64, device());
  TrunkOptions options{.in = 5, .hidden = 4, .classes = 3, .layers = 1, .dropout = 0};
  options.parts = {.norm = TrunkNorm::kLayer, .pre_linear = 1, .pre_linear_norm = true};
  Trunk trunk(options, Random(2), device(), DType::kF64);
  trunk.eval();
  EXPECT_NE(parameter_names(trunk).find("pre_norms.0.weight"), std::string::npos) << parameter_names(trunk);
  std::map<std::string, Variable> p;
  for (auto& [name, parameter] : trunk.named_parameters()) p[name] = parameter;
  p["pre_norms.0.weight"].set_value(random_tensor({4}, DType::kF64, device(), 3));
  const Variable first = add_bias(matmul(Variable(x), p["pre.0.weight"]), p["pre.0.bias"]);
  const Variable h = relu(layer_norm(first, p["pre_norms.0.weight"], p["pre_norms.0.bias"]));
  const Variable want = add_bias(propagate(graph, matmul(h, p["convs.0.lin.weight"]), {}), p["convs.0.bias"]);
  EXPECT_TRUE(near(trunk.forward(graph, Features(x)).value(), doubles(want.value()), 1e-12));
  options.parts.norm = TrunkNorm::kNone;
  EXPECT_ERROR(Trunk(options, Random()), "[trunk] pre_linear_norm needs pre_linear > 0 and a norm");
}

// DropEdge draws one graph for all layers of a step, and none for an evaluation.
TEST_P(ModelsTrunk, LayersShareTheEdgesThatAreKept) {
  const ConvGraph graph(small_gcn_graph(device()));
  TrunkOptions options{.in = 6, .hidden = 4, .classes = 3, .layers = 3, .dropout = 0, .conv = &kGcn};
  Trunk plain(options, Random(5), device(), DType::kF64);
  options.drop_edge = 0.5;
  Trunk trunk(options, Random(5), device(), DType::kF64);
  const Variable x = random_variable({12, 6}, device());
  const Tensor done = Tensor::zeros({1}, DType::kI64, device());
  const RandomStep step(done.data<std::int64_t>());
  const ConvGraph kept = drop_edges(graph, 0.5, Random(5).next());
  EXPECT_LT(kept.adj.num_edges(), graph.adj.num_edges());
  EXPECT_TRUE(near(trunk.forward(graph, x).value(), doubles(plain.forward(kept, x).value()), 1e-12));
  trunk.eval();
  EXPECT_TRUE(near(trunk.forward(graph, x).value(), doubles(plain.forward(graph, x).value()), 1e-12));
}

TEST(ModelsTrunkSteps, AreFixedUnlessEdgesAreDropped) {
  TrunkOptions options{.in = 4, .hidden = 8, .classes = 3, .conv = &kGcn};
  EXPECT_TRUE(Trunk(options, Random(1)).has_fixed_steps());
  options.drop_edge = 0.1;
  EXPECT_FALSE(Trunk(options, Random(1)).has_fixed_steps());
  // A module that holds another is as fixed as that one.
  struct Holder : Module {
    explicit Holder(Module* inner) { register_module("inner", inner); }
  };
  Trunk dropping(options, Random(1));
  EXPECT_FALSE(Holder(&dropping).has_fixed_steps());
}

TEST(ModelsTrunkErrors, NameOptionAndExpectation) {
  EXPECT_ERROR(Trunk({.in = 3, .hidden = 0, .classes = 2}, Random()),
               "[trunk] in, hidden, classes and layers must be >= 1, got 3, 0, 2 and 2");
  EXPECT_ERROR(Trunk({.in = 3, .classes = 2, .layer_dropout = {0.5, 0.5}}, Random()),
               "[trunk] layer_dropout must have a value for each of 1 hidden layers, got 2");
  EXPECT_ERROR(parse_name<TrunkNorm>("--norm", "graph"),
               "unknown norm 'graph': expected one of none, batch, layer");
  EXPECT_ERROR(parse_layer_dropout("0.5,2"),
               "--layer-dropout must be numbers in [0, 1), one for each hidden layer, got '0.5,2'");
  TrainOptions options = published_options("gcn");
  EXPECT_ERROR(apply_options({{"layer-dropout", "0.5,0.5", ""}}, options),
               "--layer-dropout needs a number for each hidden layer, 1, got 2");
  options = published_options("gcn");
  EXPECT_ERROR(apply_options({{"norm", "layer", ""}, {"pre-linear-norm", "true", ""}}, options),
               "--pre-linear-norm is for --pre-linear layers and --norm batch or layer: give both");
  options = published_options("gin");
  EXPECT_ERROR(apply_options({{"no-bias", "true", ""}}, options),
               "--no-bias is not for gin: its layers are networks of two linear layers, which have biases");
  options = published_options("gcn");
  options.trunk.pre_linear = 2147483647;  // as a damaged file of weights may say
  EXPECT_ERROR(check_trunk(options), "--pre-linear must be at most 64, got 2147483647");
  options = published_options("gcn");
  EXPECT_ERROR(
      apply_options({{"norm", "batch", ""}, {"jk", "cat", ""}, {"prune-rows", "true", ""}}, options),
      "--prune-rows would change the statistics of --norm batch in the last hidden layer, which are over all "
      "nodes: not with --jk or --post-linear");
  options = published_options("gcn");
  EXPECT_ERROR(apply_options({{"batch", "20", ""}, {"prune-rows", "true", ""}}, options),
               "--prune-rows is for the whole graph: the last layer of a batch computes its own nodes only");
}

}  // namespace
}  // namespace rodeo::test
