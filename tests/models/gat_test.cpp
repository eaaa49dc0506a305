#include "models/gat.h"

#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class ModelsGat : public OnDevice {
 protected:
  static Adjacency graph() { return small_gcn_graph(device()).adj; }
};
RODEO_ON_ALL_DEVICES(ModelsGat);

TEST_P(ModelsGat, Gradients) {
  for (const AttentionForm form : {AttentionForm::kAuto, AttentionForm::kComposed}) {
    Gat model({.in = 6, .hidden = 3, .classes = 4, .layers = 3, .heads = 2, .out_heads = 3, .form = form},
              Random(1), device(), DType::kF64);
    for (Variable& p : model.parameters()) p.set_value(random_tensor(p.shape(), DType::kF64, device(), 9));
    model.eval();  // every call draws new masks while training
    const Adjacency adj = graph();
    const Variable x = random_variable({12, 6}, device());
    EXPECT_TRUE(layer_gradients_ok(
        model, [&](const Variable& h) { return model.forward(adj, h); }, x));
  }
}

TEST_P(ModelsGat, ParametersAreThoseOfThePaper) {
  const GatOptions options{.in = 1433, .classes = 7};
  Gat here(options, Random(7), device()), there(options, Random(7), kCpu);
  const std::vector<std::pair<std::string, Shape>> want{
      {"conv1.lin.weight", {1433, 64}}, {"conv1.att_dst", {8, 8}},
      {"conv1.att_src", {8, 8}},        {"conv1.bias", {64}},
      {"conv2.lin.weight", {64, 7}},    {"conv2.att_dst", {1, 7}},
      {"conv2.att_src", {1, 7}},        {"conv2.bias", {7}}};
  const auto a = here.named_parameters(), b = there.named_parameters();
  ASSERT_EQ(a.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(a[i].first, want[i].first);
    EXPECT_EQ(a[i].second.shape(), want[i].second);
    EXPECT_TRUE(same_bits(a[i].second.value(), b[i].second.value()));
  }
  EXPECT_EQ(here.num_parameters(), 92373);  // as counted in PyG's
}

TEST_P(ModelsGat, DropoutOnlyWhileTraining) {
  const Adjacency adj = graph();
  const Variable x = random_variable({12, 6}, device());
  for (const auto& [features, attention] : {std::pair{0.6, 0.0}, {0.0, 0.6}}) {
    Gat model({.in = 6, .classes = 3, .dropout = features, .attention_dropout = attention}, Random(1),
              device(), DType::kF64);
    EXPECT_FALSE(same_bits(model.forward(adj, x).value(), model.forward(adj, x).value()));
    model.eval();
    EXPECT_TRUE(same_bits(model.forward(adj, x).value(), model.forward(adj, x).value()));
  }
}

TEST_P(ModelsGat, LearnsACommunityGraph) {
  const Dataset data = synthesize({.nodes = 600,
                                   .edges = 3000,
                                   .features = 20,
                                   .classes = 4,
                                   .label_noise = 0,
                                   .train_per_class = 20,
                                   .val = 100,
                                   .test = 300,
                                   .seed = 3});
  const Adjacency adj = add_self_loops(to_graph(data, device()).adj).adj;
  const Variable x(data.x.to(device()));
  for (const auto& [heads, out_heads] : {std::pair{8, 1}, {4, 3}}) {
    Gat model({.in = 20, .classes = 4, .heads = heads, .out_heads = out_heads}, Random(1), device());
    Trainer trainer(model, [&] { return model.forward(adj, x); }, {{model.parameters(), {.lr = 0.005}}},
                    data.y, data.split, {.epochs = 60});
    double first = 0, last = 0;
    const TrainSummary summary = trainer.fit([&](const EpochReport& report) {
      if (report.epoch == 1) first = report.loss;
      last = report.loss;
    });
    EXPECT_LT(last, 0.7 * first);
    EXPECT_GE(summary.best.test, 0.9);
  }
}

TEST(ModelsGatErrors, SizesAndDropout) {
  EXPECT_ERROR(Gat({.in = 3, .hidden = 0, .classes = 2}, Random()),
               "[gat] in, hidden, classes and layers must be >= 1, got 3, 0, 2 and 2");
  EXPECT_ERROR(Gat({.in = 3, .classes = 2, .heads = 0}, Random()),
               "[gat] heads and out_heads must be >= 1, got 0 and 1");
  EXPECT_ERROR(Gat({.in = 3, .classes = 2, .attention_dropout = 1}, Random()),
               "[gat] dropout must be in [0, 1), got 1");
}

}  // namespace
}  // namespace rodeo::test
