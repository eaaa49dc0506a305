#include "tests/support/layers.h"

#include <cmath>

#include "layers/gcn_conv.h"
#include "layers/linear.h"
#include "layers/pna_conv.h"
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

struct Named : Module {
  explicit Named(const std::vector<std::string>& names) : slots(names.size()) {
    for (std::size_t i = 0; i < names.size(); ++i)
      register_parameter(names[i], &slots[i], Tensor::zeros({1}));
  }
  void buffer(const std::string& name) { register_buffer(name, &state, Tensor::zeros({1})); }
  void module(const std::string& name, Module* child) { register_module(name, child); }
  std::vector<Variable> slots;
  Tensor state;
};

// PNA divides by it, also where no node has an edge.
TEST(LayersErrors, MeanLogDegreeIsAboveZero) {
  const auto of = [](std::vector<std::int64_t> row_ptr) {
    const auto rows = static_cast<std::int64_t>(row_ptr.size()) - 1, edges = row_ptr.back();
    return mean_log_degree(
        Adjacency(Csr{rows, 4, Tensor::from(row_ptr), Tensor::zeros({edges}, DType::kI32)}));
  };
  EXPECT_NEAR(of({0, 0, 1, 4}), (std::log(2) + std::log(4)) / 3, 1e-12);
  EXPECT_EQ(of({0, 0, 0}), 1e-3);
  EXPECT_EQ(of({0}), 1e-3);
}

TEST(LayersErrors, NamesAreUnique) {
  EXPECT_ERROR(Named({"w", "b", "w"}), "[module] there is already a parameter named 'w'");
  EXPECT_ERROR(Named({""}), "[module] a parameter, buffer or module has an empty name");
  Named layer({"w", "lin.w"}), child({"w"}), other({"v"});
  EXPECT_ERROR(layer.buffer("w"), "[module] there is already a parameter named 'w'");
  layer.buffer("mean");
  EXPECT_ERROR(layer.buffer("mean"), "[module] there is already a buffer named 'mean'");
  EXPECT_ERROR(layer.module("w", &child), "[module] there is already a parameter named 'w'");
  EXPECT_ERROR(layer.module("lin", &child), "[module] there is already a parameter named 'lin.w'");
  layer.module("lin", &other);
  EXPECT_ERROR(layer.module("lin", &child), "[module] there is already a module named 'lin'");
  EXPECT_EQ(layer.named_parameters().size(), 3u);
}

}  // namespace
}  // namespace rodeo::test
