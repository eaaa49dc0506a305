#include "models/gcn.h"

#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class ModelsGcn : public OnDevice {
 protected:
  static GcnGraph graph() { return small_gcn_graph(device()); }
};
RODEO_ON_ALL_DEVICES(ModelsGcn);

TEST_P(ModelsGcn, Gradients) {
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

TEST_P(ModelsGcn, WeightsAreTheSameOnEveryDevice) {
  const GcnOptions options{.in = 6, .hidden = 4, .classes = 3};
  Gcn here(options, Random(7), device()), there(options, Random(7), kCpu);
  const auto a = here.named_parameters(), b = there.named_parameters();
  ASSERT_EQ(a.size(), 4u);
  const std::vector<std::string> names{"conv1.lin.weight", "conv1.bias", "conv2.lin.weight", "conv2.bias"};
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, names[i]);
    EXPECT_TRUE(same_bits(a[i].second.value(), b[i].second.value()));
  }
  EXPECT_EQ(here.num_parameters(), 6 * 4 + 4 + 4 * 3 + 3);
  here.to(kCpu);
  EXPECT_EQ(here.parameters()[0].device(), kCpu);
}

TEST_P(ModelsGcn, DropoutOnlyWhileTraining) {
  const GcnGraph g = graph();
  Gcn model({.in = 6, .hidden = 8, .classes = 3}, Random(1), device(), DType::kF64);
  const Variable x = random_variable({12, 6}, device());
  EXPECT_FALSE(same_bits(model.forward(g, x).value(), model.forward(g, x).value()));
  model.eval();
  EXPECT_TRUE(same_bits(model.forward(g, x).value(), model.forward(g, x).value()));
}

// Masks that keep everything: dropout scales its output by D^-1/2, and the layers must know.
TEST_P(ModelsGcn, AlmostNoDropoutIsNone) {
  const GcnGraph g = graph();
  const Variable x(random_tensor({12, 6}, DType::kF64, device(), 1));
  const GcnOptions options{.in = 6, .hidden = 8, .classes = 3, .layers = 3, .dropout = 0};
  GcnOptions almost = options;
  almost.dropout = 1e-12;
  Gcn none(options, Random(1), device(), DType::kF64), model(almost, Random(1), device(), DType::kF64);
  const std::vector<double> want = doubles(none.forward(g, x).value());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(near(model.forward(g, x).value(), want, 1e-9)) << i;
}

TEST(ModelsGcnErrors, SizesAndDropout) {
  EXPECT_ERROR(Gcn({.in = 3, .hidden = 0, .classes = 2}, Random()),
               "[gcn] in, hidden, classes and layers must be >= 1, got 3, 0, 2 and 2");
  EXPECT_ERROR(Gcn({.in = 3, .classes = 2, .dropout = 1}, Random()),
               "[gcn] dropout must be in [0, 1), got 1");
}

}  // namespace
}  // namespace rodeo::test
