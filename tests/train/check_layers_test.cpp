#include "train/commands/check_layers.h"

#include "datasets/synthetic.h"
#include "ops/dense.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

Dataset small_dataset() {
  return synthesize(
      {.nodes = 60, .edges = 240, .features = 9, .classes = 3, .train_per_class = 4, .val = 10, .test = 10});
}

class TrainCheckLayersOnDevice : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainCheckLayersOnDevice);

TEST_P(TrainCheckLayersOnDevice, AllLayersPass) {
  const CheckLayerOptions options{.nodes = 12, .out = 3, .max_elements = 20};
  Dataset dataset = small_dataset();
  const LayerTask task = make_layer_task(dataset, device(), options);
  EXPECT_EQ(task.graph.adj.rows(), 12);
  for (const LayerEntry& layer : layer_table()) {
    const GradcheckResult result = check_layer(layer, task, options);
    EXPECT_TRUE(result) << layer.name << "\n" << str(result);
    const std::size_t parameters = layer.make(task, Random(1)).module->parameters().size();
    EXPECT_EQ(result.inputs.size(), 1 + parameters) << layer.name;  // x is one, too
  }
}

TEST(TrainCheckLayers, FindsAWrongLayer) {
  // A layer whose gradient forgets a factor: y = 2 x w.
  struct Wrong : Module {
    Wrong() { register_parameter("weight", &w, Tensor::full({9, 2}, 0.5, DType::kF64)); }
    Variable forward(const Variable& x) const {
      const Variable y = matmul(x, w);
      return record("twice", add(y.value(), y.value()), {y},
                    [](const Tensor& dy) { return std::vector{dy}; });
    }
    Variable w;
  };
  const LayerEntry wrong{"wrong", [](const LayerTask& task, Random) {
                           auto layer = std::make_unique<Wrong>();
                           BoundLayer bound;
                           bound.forward = [x = task.x, layer = layer.get()] { return layer->forward(x); };
                           bound.module = std::move(layer);
                           return bound;
                         }};
  const LayerTask task = make_layer_task(small_dataset(), kCpu, {.nodes = 5});
  const GradcheckResult result = check_layer(wrong, task, {});
  EXPECT_FALSE(result);
  EXPECT_EQ(result.inputs[1].wrong, 18);
  EXPECT_NEAR(result.inputs[1].relative_error, 0.5, 1e-6);
}

TEST(TrainCheckLayers, TakesGraphsWithoutFeatures) {
  Dataset bare = small_dataset();
  bare.x = {};
  EXPECT_EQ(make_layer_task(bare, kCpu).in(), 16);
}

TEST(TrainCheckLayers, Errors) {
  EXPECT_EQ(find_layer("gat").name, "gat");
  EXPECT_ERROR(find_layer("mlp"), "unknown layer 'mlp': the layers are " + layer_names());
  EXPECT_ERROR(make_layer_task(small_dataset(), kCpu, {.nodes = 0}),
               "[check_layer] nodes and out must be at least 1, got 0 and 4");
}

}  // namespace
}  // namespace rodeo::test
