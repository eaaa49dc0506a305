#include "layers/gcn_conv.h"
#include "layers/linear.h"
#include "models/gcn.h"
#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class LayersOnDevice : public OnDevice {
 protected:
  static GcnGraph graph() {
    std::vector<std::int64_t> row, col;
    for (std::int64_t i = 0; i < 12; ++i) {
      row.insert(row.end(), {i, i});
      col.insert(col.end(), {(i * 5 + 1) % 12, (i * i) % 12});
    }
    return gcn_norm(coo_to_csr(Tensor::from(row, device()), Tensor::from(col, device()), 12, 12).adj, {},
                    DType::kF64);
  }
};
RODEO_ON_ALL_DEVICES(LayersOnDevice);

// Gradients of a layer's input and of all its parameters.
template <class Layer, class Forward>
testing::AssertionResult layer_gradients_ok(const Layer& layer, Forward forward, const Variable& x) {
  std::vector<Variable> inputs = layer.parameters();
  inputs.push_back(x);
  return gradients_ok([&](const auto&) { return forward(x); }, inputs);
}

TEST_P(LayersOnDevice, LinearGradients) {
  Random random(1);
  const Linear layer(5, 3, random, true, device(), DType::kF64);
  const Variable x = random_variable({4, 5}, device());
  EXPECT_TRUE(layer_gradients_ok(
      layer, [&](const Variable& in) { return layer.forward(in); }, x));
}

TEST_P(LayersOnDevice, GcnConvGradientsOnBothSides) {
  const GcnGraph g = graph();
  for (const auto& [in, out] : {std::pair{5, 3}, {3, 5}}) {
    Random random(1);
    const GcnConv layer(in, out, random, true, device(), DType::kF64);
    const Variable x = random_variable({12, in}, device());
    EXPECT_TRUE(layer_gradients_ok(
        layer, [&](const Variable& h) { return layer.forward(g, h); }, x));
  }
}

TEST_P(LayersOnDevice, GcnGradients) {
  Gcn model({.in = 6, .hidden = 4, .classes = 3, .layers = 3, .dropout = 0.3}, Random(1), device(),
            DType::kF64);
  // Away from zero biases, where a node without active units sits on the kink of ReLU. Dropout draws a new
  // mask in every call, so the function that is checked has none.
  for (Variable& p : model.parameters()) p.set_value(random_tensor(p.shape(), DType::kF64, device(), 9));
  model.eval();
  const GcnGraph g = graph();
  const Variable x = random_variable({12, 6}, device());
  EXPECT_TRUE(layer_gradients_ok(
      model, [&](const Variable& h) { return model.forward(g, h); }, x));
}

TEST_P(LayersOnDevice, WeightsAreTheSameOnEveryDevice) {
  const GcnOptions options{.in = 6, .hidden = 4, .classes = 3};
  Gcn here(options, Random(7), device()), there(options, Random(7), kCpu);
  const auto a = here.named_parameters(), b = there.named_parameters();
  ASSERT_EQ(a.size(), 4u);
  const std::vector<std::string> names{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"};
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, names[i]);
    EXPECT_TRUE(same_bits(a[i].second.value(), b[i].second.value()));
  }
  EXPECT_EQ(here.num_parameters(), 6 * 4 + 4 + 4 * 3 + 3);
  here.to(kCpu);
  EXPECT_EQ(here.parameters()[0].device(), kCpu);
}

TEST_P(LayersOnDevice, DropoutOnlyWhileTraining) {
  const GcnGraph g = graph();
  Gcn model({.in = 6, .hidden = 8, .classes = 3}, Random(1), device(), DType::kF64);
  const Variable x = random_variable({12, 6}, device());
  EXPECT_FALSE(same_bits(model.forward(g, x).value(), model.forward(g, x).value()));
  model.eval();
  EXPECT_TRUE(same_bits(model.forward(g, x).value(), model.forward(g, x).value()));
}

TEST(LayersErrors, SizesAndDropout) {
  Random random;
  EXPECT_ERROR(Linear(0, 3, random), "[linear] sizes must be >= 1, got 0 -> 3");
  EXPECT_ERROR(Gcn({.in = 3, .hidden = 0, .classes = 2}, Random()),
               "[gcn] in, hidden, classes and layers must be >= 1, got 3, 0, 2 and 2");
  EXPECT_ERROR(Gcn({.in = 3, .classes = 2, .dropout = 1}, Random()),
               "[gcn] dropout must be in [0, 1), got 1");
}

}  // namespace
}  // namespace rodeo::test
