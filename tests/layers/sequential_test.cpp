#include "layers/sequential.h"

#include <algorithm>

#include "layers/dropout.h"
#include "layers/gcn_conv.h"
#include "layers/norm.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersSequential : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersSequential);

std::unique_ptr<Linear> linear_layer(std::int64_t in, std::int64_t out, Random& random, Device device) {
  return std::make_unique<Linear>(in, out, random, true, device, DType::kF64);
}

// The forms that the comment of Sequential shows.
TEST_P(LayersSequential, StepsAreModulesOperatorsAndFunctions) {
  Random random(1), same(1);
  Sequential mlp{linear_layer(8, 16, random, device()), relu, std::make_unique<Dropout>(0.5, random),
                 [](const Variable& x) { return leaky_relu(x, 0.1); }, linear_layer(16, 4, random, device())};
  const auto first = linear_layer(8, 16, same, device());
  const Dropout unused(0.5, same);
  const auto second = linear_layer(16, 4, same, device());
  mlp.eval();
  const Variable x = random_variable({5, 8}, device());
  EXPECT_TRUE(
      same_bits(mlp.forward(x).value(), second->forward(leaky_relu(relu(first->forward(x)), 0.1)).value()));
  EXPECT_TRUE(same_bits(mlp.forward_from(1, first->forward(x)).value(), mlp.forward(x).value()));
  std::vector<std::string> names;
  for (const auto& [name, parameter] : mlp.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "4.weight", "4.bias"}));
  EXPECT_NE(mlp.first_linear(), nullptr);
}

TEST_P(LayersSequential, AddTakesTheSameForms) {
  Random random(1);
  Sequential mlp;
  mlp.add(linear_layer(4, 3, random, device())).add(elu).add([](const Variable& x) {
    return leaky_relu(x, 0.5);
  });
  mlp.add(std::make_unique<LayerNorm>(3, 1e-5, true, device(), DType::kF64));
  EXPECT_EQ(mlp.named_parameters().size(), 4u);
  EXPECT_TRUE(layer_gradients_ok(
      mlp, [&](const Variable& x) { return mlp.forward(x); }, random_variable({6, 4}, device())));
  const Sequential::Step rectify = [](const auto& x) { return relu(x); };
  mlp.add(rectify).add(rectify);
  const Variable y = mlp.forward(random_variable({6, 4}, device()));
  EXPECT_GE(std::ranges::min(doubles(y.value())), 0);
  EXPECT_EQ(Sequential().first_linear(), nullptr);
  EXPECT_EQ((Sequential{relu, linear_layer(4, 3, random, device())}.first_linear()), nullptr);
  EXPECT_ERROR(mlp.add(std::unique_ptr<Linear>()), "[sequential] a module must not be null");
}

TEST_P(LayersSequential, AWholeModelOnAGraph) {
  const GcnGraph graph = small_gcn_graph(device());
  const auto on_graph = [&](const GcnConv& conv, const Variable& x) { return conv.forward(graph, x); };
  Random random(1), same(1);
  const auto conv = [&](std::int64_t in, std::int64_t out, Random& r) {
    return std::make_unique<GcnConv>(in, out, r, true, device(), DType::kF64);
  };
  Sequential gcn{{conv(5, 8, random), on_graph},
                 relu,
                 std::make_unique<Dropout>(0.5, random),
                 {conv(8, 3, random), on_graph}};
  const auto conv1 = conv(5, 8, same);
  const Dropout unused(0.5, same);
  const auto conv2 = conv(8, 3, same);
  const Variable x = random_variable({12, 5}, device());
  gcn.eval();
  const Tensor want = conv2->forward(graph, relu(conv1->forward(graph, x))).value();
  EXPECT_TRUE(same_bits(gcn.forward(x).value(), want));
  EXPECT_EQ(gcn.named_parameters()[2].first, "3.lin.weight");
  EXPECT_TRUE(layer_gradients_ok(
      gcn, [&](const Variable& in) { return gcn.forward(in); }, x));
  gcn.train();
  EXPECT_FALSE(same_bits(gcn.forward(x).value(), want));
}

TEST_P(LayersSequential, DropoutDrawsANewMaskInEveryCall) {
  Random random(1), same(1);
  Dropout layer(0.25, random), twin(0.25, same), other(0.25, random);
  const Variable x(Tensor::full({100, 20}, 3, DType::kF64, device()), true);
  const Variable y = layer.forward(x);
  EXPECT_TRUE(same_bits(y.value(), twin.forward(x).value())) << "a function of the seed";
  EXPECT_FALSE(same_bits(y.value(), layer.forward(x).value()));
  EXPECT_FALSE(same_bits(y.value(), other.forward(x).value())) << "layers share no mask";
  int zeros = 0;
  for (const double v : doubles(y.value())) {
    EXPECT_TRUE(v == 0 || v == 4) << v;
    zeros += v == 0;
  }
  EXPECT_NEAR(zeros, 500, 80);
  layer.eval();
  EXPECT_TRUE(same_bits(layer.forward(x).value(), x.value()));
  EXPECT_ERROR(Dropout(1, random), "[dropout] p must be in [0, 1), got 1");
}

}  // namespace
}  // namespace rodeo::test
