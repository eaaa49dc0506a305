// What layers refuse: each rule beside the nearest input that it accepts.
#include <gtest/gtest.h>

#include <functional>

#include "layers/appnp.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn2_conv.h"
#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/graph_pool.h"
#include "layers/node_conv.h"
#include "layers/norm.h"
#include "layers/pna_conv.h"
#include "layers/rgat_conv.h"
#include "layers/sg_conv.h"
#include "ops/gcn_norm.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

std::string refused(const std::function<void(Random&)>& make) {
  Random random(1);
  try {
    make(random);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Two nodes with an edge in each direction.
Adjacency two_nodes() {
  return Adjacency({2, 2, Tensor::from<std::int64_t>({0, 1, 2}), Tensor::from<std::int32_t>({1, 0})});
}

TEST(LayersRefusals, SizesAndRatesOfLayers) {
  EXPECT_EQ(refused([](Random&) { BatchNorm(1); }), "");
  EXPECT_EQ(refused([](Random&) { BatchNorm(0); }), "[batch_norm] n must be >= 1, got 0");
  EXPECT_EQ(refused([](Random&) { LayerNorm(1); }), "");
  EXPECT_EQ(refused([](Random&) { LayerNorm(0); }), "[layer_norm] n must be >= 1, got 0");
  const auto gcn2 = [](double alpha, double beta) {
    return refused([=](Random& random) { Gcn2Conv(3, alpha, beta, random); });
  };
  const std::string rates = "[gcn2_conv] alpha and beta must be in [0, 1], got ";
  EXPECT_EQ(gcn2(0, 1), "");
  EXPECT_EQ(gcn2(1, 0), "");
  EXPECT_EQ(gcn2(-0.5, 1), rates + "-0.5 and 1");
  EXPECT_EQ(gcn2(1.5, 1), rates + "1.5 and 1");
  EXPECT_EQ(gcn2(0, -0.5), rates + "0 and -0.5");
  EXPECT_EQ(gcn2(0, 1.5), rates + "0 and 1.5");
  EXPECT_EQ(refused([](Random& random) { PnaConv(2, 2, 0.5, random); }), "");
  EXPECT_EQ(refused([](Random& random) { PnaConv(2, 2, 0, random); }),
            "[pna_conv] log_degree must be > 0, got 0");
}

TEST(LayersRefusals, SizesOfRelations) {
  const auto rgat = [](const std::function<void(HeteroConvOptions&)>& change) {
    HeteroConvOptions options{.types = 1, .relations = 1, .in = 2, .out = 4, .heads = 2};
    change(options);
    return refused([&](Random& random) { RgatConv(options, random); });
  };
  const std::string sizes = "[rgat_conv] types, in, out and heads must be >= 1, and relations >= 0, got ";
  EXPECT_EQ(rgat([](auto&) {}), "");
  EXPECT_EQ(rgat([](auto& o) { o.relations = 0; }), "");
  EXPECT_EQ(rgat([](auto& o) { o.types = 0; }), sizes + "0, 2, 4, 2 and 1");
  EXPECT_EQ(rgat([](auto& o) { o.relations = -1; }), sizes + "1, 2, 4, 2 and -1");
  EXPECT_EQ(rgat([](auto& o) { o.in = 0; }), sizes + "1, 0, 4, 2 and 1");
  EXPECT_EQ(rgat([](auto& o) { o.out = 0; }), sizes + "1, 2, 0, 2 and 1");
  EXPECT_EQ(rgat([](auto& o) { o.heads = 0; }), sizes + "1, 2, 4, 0 and 1");
  EXPECT_EQ(rgat([](auto& o) { o.heads = 3; }), "[rgat_conv] out must be a multiple of heads, got 4 and 3");
  EXPECT_EQ(rgat([](auto& o) { o.attention_dropout = 0.9; }), "");
  EXPECT_EQ(rgat([](auto& o) { o.attention_dropout = 1; }),
            "[rgat_conv] attention_dropout must be in [0, 1), got 1");
  EXPECT_EQ(rgat([](auto& o) { o.attention_dropout = -0.5; }),
            "[rgat_conv] attention_dropout must be in [0, 1), got -0.5");
}

TEST(LayersRefusals, GraphsThatALayerCannotRead) {
  const Adjacency adj = two_nodes();
  ConvGraph whole(gcn_norm(adj, {}, DType::kF32)), block = whole;
  block.is_block = true;
  Random random(1);
  const Variable x(Tensor::zeros({2, 3}));
  const Appnp appnp({.hops = 2});
  EXPECT_NO_THROW(appnp.convolve(whole, x, {}));
  EXPECT_ERROR(appnp.convolve(block, x, {}), "[appnp] several hops cannot read the block of one layer");
  const SgConv sgc({.in = 3, .out = 2, .hops = 2}, random);
  EXPECT_NO_THROW(sgc.convolve(whole, x, {}));
  EXPECT_ERROR(sgc.convolve(block, x, {}), "[sg_conv] several hops cannot read the block of one layer");
  const Tensor one = Tensor::from<std::int64_t>({0});
  const std::string rule = "[select_destinations] the graph must be whole, got a block or selected rows";
  EXPECT_ERROR(select_destinations(block, one), rule);
  EXPECT_ERROR(select_destinations(select_destinations(whole, one), one), rule);
  const std::string edges = "[gatv2_conv] edge_in must be >= 0, got -1";
  EXPECT_EQ(refused([](Random& r) { Gatv2Conv({.in = 2, .out = 2, .heads = 1, .edge_in = -1}, r); }), edges);
  EXPECT_EQ(refused([](Random& r) { Gatv2Conv({.in = 2, .out = 2, .heads = 1, .edge_in = 1}, r); }), "");
}

TEST(LayersRefusals, InputsOfNodeLayers) {
  const Adjacency adj = two_nodes();
  Random random(1);
  const NodeConv layer(2, 3, random);
  EXPECT_EQ(layer.convolve(adj, Variable(Tensor::zeros({2, 2})), {}).shape(), (Shape{2, 3}));
  const Variable of_others(Tensor::zeros({4, 2}));
  EXPECT_ERROR(layer.convolve(ConvGraph(), of_others, {}), "[node_conv] the graph is undefined");
  EXPECT_ERROR(layer.convolve(adj, of_others, {}), "[node_conv] x must be [2, 2], got [4, 2]");
}

// Weights are of a graph's edges, and padded blocks have as many edges as their fan-outs allow.
TEST(LayersRefusals, BlocksOfWeightedGraphsAreNotPadded) {
  const Adjacency adj = two_nodes();
  Random random(1);
  const GcnConv layer(2, 3, random);
  EXPECT_TRUE(layer.can_be_padded(gcn_norm(adj), {}));
  EXPECT_FALSE(layer.can_be_padded(gcn_norm(adj, Tensor::full({2}, 3)), {}));
  EXPECT_FALSE(layer.can_be_padded(gcn_norm(adj), {.algorithm = SpmmAlgorithm::kRode}));
}

TEST(LayersRefusals, InputsOfPools) {
  Random random(1);
  const GraphPool pool(PoolKind::kMean, 2, random);
  const Variable x(Tensor::zeros({3, 2}));
  const Tensor offsets = Tensor::from<std::int64_t>({0, 1, 3});
  EXPECT_EQ(pool.forward(x, offsets).shape(), (Shape{2, 2}));
  const std::string rule = "[graph_pool] offsets must be i64 [graphs + 1]";
  const GraphPool gated(PoolKind::kAttention, 2, random);
  EXPECT_NO_THROW(gated.forward(x, offsets));
  EXPECT_ERROR(gated.forward({}, offsets), "[graph_pool] x must be a matrix [nodes, width]");
  EXPECT_ERROR(gated.forward(Variable(Tensor::zeros({3})), offsets),
               "[graph_pool] x must be a matrix [nodes, width]");
  EXPECT_ERROR(gated.forward(x, {}), rule);
  EXPECT_ERROR(gated.forward(x, offsets.to(DType::kI32)), rule);
  EXPECT_ERROR(gated.forward(x, offsets.reshape({3, 1})), rule);
  EXPECT_ERROR(gated.forward(x, offsets.slice(0, 0)), rule);
}

}  // namespace
}  // namespace rodeo::test
