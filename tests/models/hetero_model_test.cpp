#include "models/hetero_model.h"

#include "ops/combine.h"
#include "ops/loss.h"
#include "tests/support/devices.h"
#include "tests/support/hetero.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class ModelsHetero : public OnDevice {};
RODEO_ON_ALL_DEVICES(ModelsHetero);

HeteroModelOptions small_options(std::string_view conv) {
  return {.conv = &find_hetero_conv(conv),
          .in = {3, 5, 0, 0},
          .target = 1,
          .hidden = 4,
          .classes = 2,
          .dropout = 0,
          .layer = {.heads = 2}};
}

std::vector<HeteroInput> small_inputs(DType dtype, Device device) {
  return {{Variable(random_tensor({5, 3}, dtype, device, 1))},
          {Variable(random_tensor({4, 5}, dtype, device, 2))},
          {},
          {}};
}

TEST_P(ModelsHetero, GradientsOfAllParameters) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  const auto check_gradients = [&](std::string_view name, TrunkNorm norm) {
    SCOPED_TRACE(str(name, " ", norm));
    HeteroModelOptions options = small_options(name);
    options.norm = norm;
    HeteroModel model(options, graph, Random(3), device(), DType::kF64);
    std::uint64_t seed = 0;  // zero biases would put isolated nodes at the kink of ReLU
    for (const Variable& p : model.parameters())
      p.value().copy_from(random_tensor(p.shape(), DType::kF64, device(), ++seed));
    const auto forward = [&](const auto&) {
      return model.forward(graph, small_inputs(DType::kF64, device()));
    };
    EXPECT_EQ(forward(0).shape(), (Shape{4, 2}));
    const GradcheckResult result = gradcheck(forward, model.parameters(), {.max_elements = 4});
    EXPECT_TRUE(result) << result.message;
  };
  for (const std::string_view name : hetero_conv_names()) check_gradients(name, TrunkNorm::kNone);
  for (const TrunkNorm norm : {TrunkNorm::kLayer, TrunkNorm::kBatch}) check_gradients("rgcn", norm);
}

// All nodes as blocks: the last one has the destinations of the target type.
TEST_P(ModelsHetero, BlocksOfAllNodesEqualTheWholeGraph) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  for (const std::string_view name : hetero_conv_names()) {
    SCOPED_TRACE(name);
    HeteroModel model(small_options(name), graph, Random(3), device(), DType::kF64);
    std::vector<HeteroInput> inputs = small_inputs(DType::kF64, device());
    const Variable whole = model.forward(graph, inputs);
    inputs[3].nodes = Tensor::from(std::vector<std::int64_t>{0, 1, 2}, device());
    const Variable blocks = model.forward({graph, graph.with_targets_of(1)}, inputs);
    EXPECT_TRUE(near(blocks.value(), doubles(whole.value()), 1e-12));
  }
}

// Features of one width are read as they are: no parameters of types, and the first layer has their width.
TEST_P(ModelsHetero, WithoutProjections) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  const auto options_of = [&](std::string_view name) {
    HeteroModelOptions options = small_options(name);
    options.project = false;
    options.in = {6, 6, 6, 6};
    return options;
  };
  const Tensor x = random_tensor({graph.num_nodes(), 6}, DType::kF64, device(), 1);
  for (const std::string_view name : hetero_conv_names()) {
    SCOPED_TRACE(name);
    HeteroModel model(options_of(name), graph, Random(3), device(), DType::kF64);
    for (const auto& [parameter, value] : model.named_parameters())
      EXPECT_FALSE(parameter.starts_with("lins.") || parameter.starts_with("embeddings.")) << parameter;
    std::uint64_t seed = 0;
    for (const Variable& p : model.parameters())
      p.value().copy_from(random_tensor(p.shape(), DType::kF64, device(), ++seed));
    const auto forward = [&](const auto&) { return model.forward(graph, {{.x = Features(x)}}); };
    const GradcheckResult result = gradcheck(forward, model.parameters(), {.max_elements = 4});
    EXPECT_TRUE(result) << result.message;
    const Variable blocks = model.forward({graph, graph.with_targets_of(1)}, {{.x = Features(x)}});
    EXPECT_TRUE(near(blocks.value(), doubles(forward(0).value()), 1e-12));
    EXPECT_ERROR(model.forward(graph, small_inputs(DType::kF64, device())),
                 "[hetero_model] without projections there must be one input with x [12, 6]");
  }
  HeteroModelOptions options = options_of("rgcn");
  options.in = {6, 6, 5, 6};
  EXPECT_ERROR(HeteroModel(options, graph, Random(1), device()),
               "[hetero_model] without projections all types need features of one width: nobody has 5 "
               "columns, and author has 6");
}

TEST_P(ModelsHetero, DropoutOnlyWhileTraining) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  HeteroModelOptions options = small_options("rgcn");
  options.hidden = 16;
  HeteroModel none(options, graph, Random(3), device(), DType::kF64);
  options.dropout = 0.5;
  HeteroModel model(options, graph, Random(3), device(), DType::kF64);
  const auto run = [&](HeteroModel& of) {
    return of.forward(graph, small_inputs(DType::kF64, device())).value();
  };
  EXPECT_FALSE(same_bits(run(model), run(model)));
  EXPECT_FALSE(same_bits(run(model), run(none)));
  model.eval();
  EXPECT_TRUE(same_bits(run(model), run(none)));
}

TEST_P(ModelsHetero, LearnsLabels) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  const Tensor label = Tensor::from(std::vector<std::int64_t>{0, 1, 1, 0}, device()),
               index = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3}, device());
  for (const std::string_view name : hetero_conv_names()) {
    SCOPED_TRACE(name);
    HeteroModelOptions options = small_options(name);
    options.hidden = 16;
    HeteroModel model(options, graph, Random(3), device());
    double loss = 0;
    for (int step = 0; step < 200; ++step) {
      model.zero_grad();
      const Variable l =
          cross_entropy(model.forward(graph, small_inputs(DType::kF32, device())), label, index);
      loss = l.value().item();
      l.backward();
      for (Variable p : model.parameters())
        if (p.grad().defined()) p.set_value(linear_combination(1, p.value(), -0.3, p.grad()));
    }
    EXPECT_LT(loss, 0.3);
  }
}

TEST_P(ModelsHetero, HalfPrecisionBesideParametersInF32) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  for (const std::string_view name : hetero_conv_names()) {
    SCOPED_TRACE(name);
    HeteroModel model(small_options(name), graph, Random(3), device());
    const Variable want = model.forward(graph, small_inputs(DType::kF32, device())),
                   y = model.forward(graph, small_inputs(DType::kBF16, device()));
    EXPECT_EQ(y.dtype(), DType::kBF16);
    EXPECT_TRUE(near(y.value(), doubles(want.value()), 0.1, 0.1));
    y.backward(Tensor::full(y.shape(), 1, DType::kBF16, device()));
    EXPECT_EQ(model.parameters().front().grad().dtype(), DType::kF32);
  }
}

// The width of models without attention need not be a multiple of its heads.
TEST(ModelsHeteroErrors, HeadsAreOfAttentionAlone) {
  const HeteroGraph graph = small_hetero_graph(kCpu);
  for (const std::string_view name : hetero_conv_names()) {
    HeteroModelOptions options = small_options(name);
    options.hidden = 6, options.layer.heads = 4;
    const auto make = [&] { HeteroModel(options, graph, Random(3)); };
    if (options.conv->heads)
      EXPECT_ERROR(make(), str("[", name, "_conv] out must be a multiple of heads, got 6 and 4"));
    else
      EXPECT_NO_THROW(make()) << name;
  }
}

TEST(ModelsHeteroErrors, NameWhatIsWrong) {
  const HeteroGraph graph = small_hetero_graph(kCpu);
  EXPECT_ERROR(
      find_hetero_conv("gcn"),
      "[hetero_model] there is no model gcn of heterogeneous graphs; there are rgcn, hetero-sage, rgat, hgt");
  HeteroModelOptions options = small_options("rgcn");
  HeteroModel model(options, graph, Random(1));
  EXPECT_ERROR(model.forward(graph, {{}, {}}),
               "[hetero_model] there must be 4 inputs, one a node type, got 2");
  EXPECT_ERROR(model.forward(graph, {{}, {}, {}, {}}),
               "[hetero_model] author has features of 3 columns, got none");
  options.in = {3};
  EXPECT_ERROR(HeteroModel(options, graph, Random(1)),
               "[hetero_model] in must have 4 entries, one a node type, got 1");
}

}  // namespace
}  // namespace rodeo::test
