#include <algorithm>

#include "datasets/synthetic.h"
#include "models/appnp.h"
#include "models/gat.h"
#include "models/gin.h"
#include "models/sage.h"
#include "models/sgc.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class ModelsOther : public OnDevice {
 protected:
  static GcnGraph graph() { return small_gcn_graph(device()); }
};
RODEO_ON_ALL_DEVICES(ModelsOther);

/// Away from zeros and ones, and without masks, which change from call to call.
template <class Model, class Graph>
void check_gradients(Model& model, const Graph& graph, Device device) {
  std::uint64_t seed = 20;
  for (Variable& p : model.parameters()) p.set_value(random_tensor(p.shape(), DType::kF64, device, ++seed));
  model.eval();
  EXPECT_TRUE(layer_gradients_ok(
      model, [&](const Variable& h) { return model.forward(graph, h); }, random_variable({12, 6}, device)));
}

TEST_P(ModelsOther, Gradients) {
  const GcnGraph g = graph();
  Gatv2 gatv2({.in = 6, .hidden = 3, .classes = 4, .heads = 2}, Random(1), device(), DType::kF64);
  check_gradients(gatv2, g.adj, device());
  for (const Reduce aggr : {Reduce::kMean, Reduce::kMax, Reduce::kSum}) {
    Sage sage({.in = 6, .hidden = 4, .classes = 3, .aggr = aggr}, Random(1), device(), DType::kF64);
    check_gradients(sage, g.adj, device());
  }
  Gin gin({.in = 6, .hidden = 4, .classes = 3, .train_eps = true}, Random(1), device(), DType::kF64);
  check_gradients(gin, g.adj, device());
  Sgc sgc({.in = 6, .classes = 3}, Random(1), device(), DType::kF64);
  check_gradients(sgc, g, device());
  AppnpModel appnp({.in = 6, .hidden = 4, .classes = 3}, Random(1), device(), DType::kF64);
  check_gradients(appnp, g, device());
}

TEST_P(ModelsOther, StateNamesAreThoseOfPyG) {
  const auto names = [](const Module& model) {
    std::string all;
    for (const auto& [name, value] : model.state_dict()) all += str(name, value.shape(), " ");
    return all;
  };
  EXPECT_EQ(names(Gatv2({.in = 6, .hidden = 3, .classes = 4, .layers = 1, .out_heads = 2}, Random(1))),
            "conv1.lin_r.weight[8, 6] conv1.lin_l.weight[8, 6] conv1.lin_r.bias[8] conv1.lin_l.bias[8] "
            "conv1.att[1, 2, 4] conv1.bias[4] ");
  EXPECT_EQ(names(Sage({.in = 6, .classes = 3, .layers = 1}, Random(1))),
            "conv1.lin_l.weight[3, 6] conv1.lin_l.bias[3] conv1.lin_r.weight[3, 6] ");
  EXPECT_EQ(names(Gin({.in = 6, .hidden = 4, .classes = 3, .layers = 1}, Random(1))),
            "conv1.eps[1] conv1.nn.0.weight[4, 6] conv1.nn.0.bias[4] conv1.nn.1.module.weight[4] "
            "conv1.nn.1.module.bias[4] conv1.nn.1.module.running_mean[4] conv1.nn.1.module.running_var[4] "
            "conv1.nn.3.weight[4, 4] conv1.nn.3.bias[4] lin.weight[3, 4] lin.bias[3] ");
  EXPECT_EQ(names(Sgc({.in = 6, .classes = 3}, Random(1))), "conv1.lin.weight[3, 6] conv1.lin.bias[3] ");
  EXPECT_EQ(names(AppnpModel({.in = 6, .hidden = 4, .classes = 3}, Random(1))),
            "lin1.weight[4, 6] lin1.bias[4] lin2.weight[3, 4] lin2.bias[3] ");
}

TEST_P(ModelsOther, LearnACommunityGraph) {
  for (const ModelEntry& entry : model_registry()) {
    const std::string_view model = entry.name;
    TrainOptions options = published_options(model);
    options.layers = std::min(options.layers, 4);  // of GCNII's 64
    options.normalize_features = FeatureScaling::kNone;
    const Dataset data = synthesize({.nodes = 600,
                                     .edges = 3000,
                                     .features = 20,
                                     .classes = 4,
                                     .label_noise = 0,
                                     .train_per_class = 20,
                                     .val = 100,
                                     .test = 300,
                                     .seed = 3});
    const auto run_once = [&] {
      const NodeRun run = make_run(data, options, device());
      Trainer trainer = make_trainer(run, {.epochs = 60});
      std::vector<double> losses;
      const TrainSummary summary =
          trainer.fit([&](const EpochReport& report) { losses.push_back(report.loss); });
      // A model that reads no edges has random features alone.
      const bool reads_edges = entry.conv->traits.graph != GraphInput::kNoEdges;
      EXPECT_GE(summary.best.test, reads_edges ? 0.85 : 0.25) << model;
      EXPECT_LT(losses.back(), 0.8 * losses.front()) << model;
      return losses;
    };
    EXPECT_EQ(run_once(), run_once()) << model;  // same seed, same bits
  }
}

TEST(ModelsOtherErrors, SizesAndDropout) {
  EXPECT_ERROR(Sage({.in = 3, .hidden = 0, .classes = 2}, Random()),
               "[sage] in, hidden, classes and layers must be >= 1, got 3, 0, 2 and 2");
  EXPECT_ERROR(Gin({.in = 3, .classes = 2, .dropout = 1}, Random()),
               "[gin] dropout must be in [0, 1), got 1");
  EXPECT_ERROR(AppnpModel({.in = 3, .classes = 2, .hops = -1}, Random()),
               "[appnp] hops must be >= 0, got -1");
}

}  // namespace
}  // namespace rodeo::test
