// What trunks and models of several node types refuse.
#include <gtest/gtest.h>

#include "layers/gcn_conv.h"
#include "models/hetero_model.h"
#include "models/trunk.h"
#include "ops/gcn_norm.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(ModelsRefusals, CallsThatATrunkCannotAnswer) {
  TrunkOptions options{.in = 3, .hidden = 4, .classes = 2};
  options.parts.pre_linear = 0;
  Trunk trunk(options, Random(1));
  const Adjacency adj({2, 2, Tensor::from<std::int64_t>({0, 1, 2}), Tensor::from<std::int32_t>({1, 0})});
  const ConvGraph graph(gcn_norm(adj, {}, DType::kF32));
  const Features x(Tensor::zeros({2, 3}));
  EXPECT_ERROR(trunk.forward(graph, x, Tensor::from<std::int64_t>({0, 2})),
               "[trunk] offsets are for a trunk with a pool");
  EXPECT_ERROR(trunk.evaluate_inputs(x), "[trunk] evaluate_inputs is for evaluation mode: call eval() first");
  trunk.eval();
  EXPECT_EQ(trunk.evaluate_inputs(x).shape(), (Shape{2, 3}));
  EXPECT_ERROR(trunk.evaluate_outputs({}),
               "[trunk] evaluate_outputs needs the output of the last layer, got none");
  options.parts.pre_linear = -1;
  EXPECT_ERROR(Trunk(options, Random(1)), "[trunk] pre_linear must be >= 0, got -1");
}

TEST(ModelsRefusals, AModelWithoutAConvolution) {
  const Tensor edge = Tensor::from<std::int64_t>({0});
  const HeteroGraph graph({{.name = "a", .count = 1}},
                          {{.src = "a", .name = "r", .dst = "a", .src_ids = edge, .dst_ids = edge}});
  EXPECT_ERROR(HeteroModel({.in = {1}}, graph, Random(1)), "[hetero_model] conv is not set");
}

}  // namespace
}  // namespace rodeo::test
