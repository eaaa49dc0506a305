#include "tests/support/layers.h"
#include "layers/gcn_conv.h"
#include "layers/linear.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class LayersOnDevice : public OnDevice {
 protected:
  static GcnGraph graph() { return small_gcn_graph(device()); }
};
RODEO_ON_ALL_DEVICES(LayersOnDevice);

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

TEST(LayersErrors, Sizes) {
  Random random;
  EXPECT_ERROR(Linear(0, 3, random), "[linear] sizes must be >= 1, got 0 -> 3");
}

}  // namespace
}  // namespace rodeo::test
