/// The trunk beside PyG's: outputs, gradients and running statistics, from scripts/pyg_reference.py.
#include <filesystem>

#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gine_conv.h"
#include "layers/sage_conv.h"
#include "layers/transformer_conv.h"
#include "models/trunk.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/pyg_reference.h"

namespace rodeo::test {
namespace {

class ModelsPygTrunk : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped() && !std::filesystem::exists(PygReference::path()))
      GTEST_SKIP() << "no tests/data/pyg_reference.txt: scripts/pyg_reference.py makes it";
  }
};
RODEO_ON_ALL_DEVICES(ModelsPygTrunk);

struct Case {
  const ConvKind* conv;
  TrunkParts parts;
  std::int64_t out_heads = 1;
};

/// TRUNKS of scripts/pyg_reference.py, and its last case.
std::vector<Case> cases() {
  using enum TrunkJump;
  using enum TrunkActivation;
  constexpr TrunkNorm kBatch = TrunkNorm::kBatch, kLayer = TrunkNorm::kLayer;
  return {{&kGcn, {.norm = kBatch, .residual = true, .jump = kCat}},
          {&kGcn, {.norm = kLayer, .jump = kLast, .pre_linear = 2, .activation = kGelu}},
          {&kGat, {.norm = kLayer, .residual = true, .post_linear = true, .activation = kElu}},
          {&kGat, {.norm = kBatch, .pre_linear = 1}, 3},
          {&kGatv2, {.residual = true, .jump = kMax, .pre_linear = 2, .activation = kGelu}},
          {&kSage, {.norm = kLayer, .residual = true, .jump = kSum, .activation = kElu}},
          {&kSage, {.norm = kBatch, .residual = true}},
          {&kGin, {.norm = kBatch, .post_linear = true}},
          {&kGin, {.norm = kLayer, .residual = true, .jump = kCat, .activation = kGelu}},
          {&kTransformer, {.norm = kLayer, .residual = true, .jump = kCat, .activation = kElu}}};
}

TEST_P(ModelsPygTrunk, OutputsGradientsAndStatistics) {
  const PygReference reference(PygReference::path());
  const auto ids = [&](const char* name) { return reference.at("graph", name).to(DType::kI64).to(device()); };
  const Adjacency adj = coo_to_csr(ids("target"), ids("source"), 8, 8).adj;
  int number = 0;
  for (const auto& [conv, parts, out_heads] : cases()) {
    const std::string which = str("trunk_", number++, "_", conv->name);
    SCOPED_TRACE(which);
    const TrunkOptions options{.in = 4,
                               .hidden = 3,
                               .classes = 3,
                               .layers = 2,
                               .dropout = 0,
                               .conv = conv,
                               .parts = parts,
                               .layer = {.heads = 2, .out_heads = out_heads, .attention_dropout = 0}};
    Trunk trunk(options, Random(1), device(), DType::kF64), want(options, Random(1), device(), DType::kF64);
    StateDict state = reference.state(which);
    trunk.load_state_dict(state);
    const GraphInput input = conv->traits.graph;
    const ConvGraph graph = input == GraphInput::kGcnNorm     ? ConvGraph(gcn_norm(adj, {}, DType::kF64))
                            : input == GraphInput::kSelfLoops ? ConvGraph(add_self_loops(adj).adj)
                                                              : ConvGraph(adj);
    const Variable x(reference.at("graph", "x").to(device()), true);
    const Variable y = trunk.forward(graph, x);
    EXPECT_TRUE(near(y.value(), doubles(reference.at(which, "y")), 1e-5, 1e-5));

    y.backward(reference.at("trunk", "upstream").to(device()));
    EXPECT_TRUE(near(x.grad(), doubles(reference.at(which, "grad.x")), 1e-5, 1e-5));
    // Gradients and statistics in the layout of parameters and buffers: loaded as a state.
    const auto replace = [&](const std::string& prefix) {
      for (const auto& [name, value] : reference.state(which, prefix))
        for (auto& [known, old] : state)
          if (known == name) old = value;
    };
    replace("grad.");
    replace("after.");
    want.load_state_dict(state);
    const auto got = trunk.named_parameters(), expected = want.named_parameters();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(near(got[i].second.grad(), doubles(expected[i].second.value()), 1e-5, 1e-5))
          << got[i].first;
    const auto buffers = trunk.named_buffers(), after = want.named_buffers();
    for (std::size_t i = 0; i < buffers.size(); ++i)
      EXPECT_TRUE(near(buffers[i].second, doubles(after[i].second), 1e-5, 1e-5)) << buffers[i].first;
  }
}

}  // namespace
}  // namespace rodeo::test
