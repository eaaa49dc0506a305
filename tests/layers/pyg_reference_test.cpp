#include <cmath>
#include <filesystem>

#include "layers/appnp.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn2_conv.h"
#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/graph_conv.h"
#include "layers/graph_pool.h"
#include "layers/jumping_knowledge.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/pna_conv.h"
#include "layers/sage_conv.h"
#include "layers/sg_conv.h"
#include "layers/transformer_conv.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/pyg_reference.h"

namespace rodeo::test {
namespace {

class LayersPyG : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists(PygReference::path()))
      GTEST_SKIP() << "no tests/data/pyg_reference.txt: scripts/pyg_reference.py makes it";
    reference_ = std::make_unique<PygReference>(PygReference::path());
    const CooResult coo = coo_to_csr(ids("target"), ids("source"), 8, 8, {.edge_ids = true});
    adj_ = coo.adj;
    weight_ = take(reference_->at("graph", "weight").to(device()), coo.edge_ids);
    x_ = Variable(reference_->at("graph", "x").to(device()));
    other_ = Variable(reference_->at("graph", "other").to(device()));
  }
  Tensor ids(const std::string& array) const {
    return reference_->at("graph", array).to(DType::kI64).to(device());
  }
  /// Gives the layer PyG's state and compares what forward() returns with what PyG returned.
  template <class Forward>
  void expect_same(const std::string& name, Module& layer, Forward forward) const {
    layer.load_state_dict(reference_->state(name));
    EXPECT_TRUE(near(forward().value(), doubles(reference_->at(name, "y")), 1e-5, 1e-5)) << name;
  }
  template <class Layer>
  void expect_same_on_graph(const std::string& name, Layer& layer) const {
    expect_same(name, layer, [&] { return layer.forward(adj_, x_); });
  }

  std::unique_ptr<PygReference> reference_;
  Adjacency adj_;
  Tensor weight_;
  Variable x_, other_;
  Random random_{1};
};
RODEO_ON_ALL_DEVICES(LayersPyG);

constexpr DType kF64 = DType::kF64;

TEST_P(LayersPyG, Convolutions) {
  GcnConv gcn(4, 3, random_, true, device(), kF64);
  const GcnGraph plain = gcn_norm(adj_, {}, kF64), weighted = gcn_norm(adj_, weight_);
  expect_same("gcn", gcn, [&] { return gcn.forward(plain, x_); });
  expect_same("gcn_weighted", gcn, [&] { return gcn.forward(weighted, x_); });
  SgConv sg({.in = 4, .out = 3, .hops = 2}, random_, device(), kF64);
  expect_same("sg", sg, [&] { return sg.forward(plain, x_); });
  Appnp appnp({.hops = 3, .alpha = 0.2});
  expect_same("appnp", appnp, [&] { return appnp.forward(plain, x_); });
  Gcn2Conv gcn2(4, 0.2, std::log(0.7 / 3 + 1), random_, device(), kF64);
  expect_same("gcn2", gcn2, [&] { return gcn2.convolve(plain, x_, {.initial = other_}); });
  PnaConv pna(4, 3, 1, random_, device(), kF64);
  expect_same("pna", pna, [&] { return pna.convolve(adj_, x_, {}); });
  for (const auto& [name, reduce] :
       {std::pair{"sage_mean", Reduce::kMean}, {"sage_max", Reduce::kMax}, {"sage_sum", Reduce::kSum}}) {
    SageConv sage({.in = 4, .out = 3, .aggr = reduce}, random_, device(), kF64);
    expect_same_on_graph(name, sage);
  }
  SageConv normalized({.in = 4, .out = 3, .normalize = true, .root_weight = false}, random_, device(), kF64);
  expect_same_on_graph("sage_normalize", normalized);
  for (const auto& [name, reduce] :
       {std::pair{"graph_sum", Reduce::kSum}, {"graph_mean", Reduce::kMean}, {"graph_max", Reduce::kMax}}) {
    GraphConv conv({.in = 4, .out = 3, .aggr = reduce}, random_, device(), kF64);
    expect_same(name, conv, [&] { return conv.forward(adj_, Variable(weight_), x_); });
  }
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(4, 5, random_, true, device(), kF64))
      .add([](const Variable& x) { return relu(x); })
      .add(std::make_unique<Linear>(5, 3, random_, true, device(), kF64));
  GinConv gin(std::move(nn), {.train_eps = true}, device(), kF64);
  expect_same_on_graph("gin", gin);
}

TEST_P(LayersPyG, Attention) {
  const Adjacency looped = add_self_loops(adj_).adj;
  GatConv gat({.in = 4, .out = 3, .heads = 2}, random_, device(), kF64);
  expect_same("gat", gat, [&] { return gat.forward(looped, x_, {}); });
  GatConv mean({.in = 4, .out = 3, .heads = 2, .merge = HeadMerge::kMean, .residual = true}, random_,
               device(), kF64);
  expect_same("gat_mean_residual", mean, [&] { return mean.forward(looped, x_, {}); });
  Gatv2Conv gatv2({.in = 4, .out = 3, .heads = 2}, random_, device(), kF64);
  expect_same("gatv2", gatv2, [&] { return gatv2.forward(looped, x_, {}); });
  for (const AttentionForm form : {AttentionForm::kAuto, AttentionForm::kComposed}) {
    TransformerConv plain({.in = 4, .out = 3, .heads = 2, .residual = true, .form = form}, random_, device(),
                          kF64);
    expect_same("transformer", plain, [&] { return plain.forward(adj_, x_, {}); });
    TransformerConv gate({.in = 4,
                          .out = 3,
                          .heads = 2,
                          .merge = HeadMerge::kMean,
                          .residual = true,
                          .beta = true,
                          .form = form},
                         random_, device(), kF64);
    expect_same("transformer_beta", gate, [&] { return gate.forward(adj_, x_, {}); });
  }
}

TEST_P(LayersPyG, EdgeFeatures) {
  const CooResult coo = coo_to_csr(ids("target"), ids("source"), 8, 8, {.edge_ids = true});
  const Variable f(take(reference_->at("edges", "attr").to(device()), coo.edge_ids));
  Gatv2Conv gatv2({.in = 4, .out = 3, .heads = 2, .edge_in = 2}, random_, device(), kF64);
  expect_same("gatv2_edge", gatv2, [&] { return gatv2.forward(adj_, x_, f, RandomKey()); });
  TransformerConv transformer({.in = 4, .out = 3, .heads = 2, .residual = true, .edge_in = 2}, random_,
                              device(), kF64);
  expect_same("transformer_edge", transformer, [&] { return transformer.forward(adj_, x_, f, RandomKey()); });
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(4, 5, random_, true, device(), kF64))
      .add(Sequential::Step([](const Variable& x) { return relu(x); }))
      .add(std::make_unique<Linear>(5, 3, random_, true, device(), kF64));
  GineConv gine(std::move(nn), 4, 2, random_, {.train_eps = true}, device(), kF64);
  expect_same("gine", gine, [&] { return gine.forward(adj_, x_, f); });
}

TEST_P(LayersPyG, Pools) {
  const Tensor offsets = Tensor::from<std::int64_t>({0, 3, 4, 8}, device());
  for (const PoolKind kind : {PoolKind::kSum, PoolKind::kMean, PoolKind::kMax, PoolKind::kAttention}) {
    GraphPool pool(kind, 4, random_, device(), kF64);
    expect_same(str("pool_", name(kind)), pool, [&] { return pool.forward(x_, offsets); });
  }
}

TEST_P(LayersPyG, DenseLayers) {
  Linear linear(4, 3, random_, true, device(), kF64);
  expect_same("linear", linear, [&] { return linear.forward(x_); });
  BatchNorm batch(4, {}, device(), kF64);
  expect_same("batch_norm", batch, [&] { return batch.forward(x_); });
  BatchNorm after(4, {}, device(), kF64);
  after.load_state_dict(reference_->state("batch_norm", "after."));
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(near(batch.named_buffers()[i].second, doubles(after.named_buffers()[i].second), 1e-5, 1e-5));
  LayerNorm layer(4, 1e-5, true, device(), kF64);
  expect_same("layer_norm", layer, [&] { return layer.forward(x_); });
  JumpingKnowledge cat(JumpingMode::kCat), max(JumpingMode::kMax);
  expect_same("jumping_cat", cat, [&] { return cat.forward({x_, other_}); });
  expect_same("jumping_max", max, [&] { return max.forward({x_, other_}); });
}

}  // namespace
}  // namespace rodeo::test
