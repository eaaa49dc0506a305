#include "models/appnp.h"
#include "models/gat.h"
#include "models/gcn.h"
#include "models/gin.h"
#include "models/sage.h"
#include "models/sgc.h"
#include "ops/convert.h"
#include "ops/dense_csr.h"
#include "ops/select_rows.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class ModelsSparseFeatures : public OnDevice {
 protected:
  static GcnGraph graph() { return small_gcn_graph(device()); }
  static Adjacency entries() {
    return graph_with_lengths({3, 0, 2, 5, 1, 4, 0, 2, 3, 1, 6, 2}, 9).to(device());
  }
  static Tensor values() { return random_tensor({29}, DType::kF64, device(), 8); }
};
RODEO_ON_ALL_DEVICES(ModelsSparseFeatures);

/// The logits and the gradients of all parameters, one after the other.
template <class Model, class Graph>
std::vector<double> trace(Model& model, const Graph& graph, const Features& x) {
  model.zero_grad();
  const Variable y = model.forward(graph, x);
  y.backward(random_tensor(y.shape(), DType::kF64, y.device(), 3));
  std::vector<double> out = doubles(y.value());
  for (const Variable& p : model.parameters())
    for (const double v : doubles(p.grad())) out.push_back(v);
  return out;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-12) << i;
}

/// Training, with its masks, and evaluation are those of the dense features.
template <class Model, class Options, class Graph>
void expect_same(const Options& options, const Graph& graph, const Adjacency& entries, const Tensor& values) {
  Model a(options, Random(1), values.device(), DType::kF64),
      b(options, Random(1), values.device(), DType::kF64);
  const Features sparse = sparse_features(entries, values), dense(csr_to_dense(entries, values));
  for (int step = 0; step < 2; ++step) expect_near(trace(a, graph, sparse), trace(b, graph, dense));
  a.eval();
  b.eval();
  expect_near(trace(a, graph, sparse), trace(b, graph, dense));
}

TEST_P(ModelsSparseFeatures, ChangeNoModel) {
  const GcnGraph g = graph();
  const Adjacency x = entries();
  const Tensor v = values();
  for (const double p : {0.5, 0.0}) {
    expect_same<Gcn>(GcnOptions{.in = 9, .hidden = 4, .classes = 3, .dropout = p}, g, x, v);
    // Where the dense form aggregates first.
    expect_same<Gcn>(GcnOptions{.in = 9, .hidden = 16, .classes = 3, .dropout = p}, g, x, v);
    expect_same<Gat>(GatOptions{.in = 9, .hidden = 3, .classes = 4, .heads = 2, .dropout = p}, g.adj, x, v);
    expect_same<Gatv2>(GatOptions{.in = 9, .hidden = 3, .classes = 4, .heads = 2, .dropout = p}, g.adj, x, v);
    expect_same<Sgc>(SgcOptions{.in = 9, .classes = 3}, g, x, v);
    expect_same<AppnpModel>(AppnpModelOptions{.in = 9, .hidden = 4, .classes = 3, .dropout = p}, g, x, v);
    for (const std::int64_t hidden : {4, 16})
      expect_same<Sage>(SageOptions{.in = 9, .hidden = hidden, .classes = 3, .dropout = p}, g.adj, x, v);
    for (const std::int64_t hidden : {4, 16})
      for (const bool learned : {false, true})
        expect_same<Gin>(
            GinOptions{.in = 9, .hidden = hidden, .classes = 3, .dropout = p, .train_eps = learned}, g.adj, x,
            v);
  }
}

TEST_P(ModelsSparseFeatures, WhatComparesFeaturesNeedsThemDense) {
  Sage sage({.in = 9, .hidden = 4, .classes = 3, .aggr = Reduce::kMax}, Random(1), device(), DType::kF64);
  EXPECT_ERROR(sage.forward(graph().adj, sparse_features(entries(), values())),
               "[features] a dense matrix is needed here, and these features are sparse: [12, 9]");
}

// Without dropout before it, the first aggregation is of constants: computed once, and equal.
TEST_P(ModelsSparseFeatures, PropagatedOnceIsPropagatedEveryTime) {
  const GcnGraph g = graph();
  const Tensor constant = random_tensor({12, 9}, DType::kF64, device(), 5);
  for (const std::int64_t hidden : {4, 16}) {
    const GcnOptions options{.in = 9, .hidden = hidden, .classes = 3, .dropout = 0.5, .input_dropout = 0};
    Gcn kept(options, Random(1), device(), DType::kF64), anew(options, Random(1), device(), DType::kF64);
    // What requires a gradient is not constant.
    const Variable x(constant), learned(constant, true);
    for (int step = 0; step < 3; ++step) expect_near(trace(kept, g, x), trace(anew, g, learned));
    // Other features, and another graph, are not what was kept.
    const Variable other(random_tensor({12, 9}, DType::kF64, device(), 6));
    expect_near(trace(kept, g, other), trace(anew, g, Variable(other.value(), true)));
    const GcnGraph loops =
        gcn_norm(graph_with_lengths(std::vector<std::int64_t>(12, 0), 12).to(device()), {}, DType::kF64);
    expect_near(trace(kept, loops, other), trace(anew, loops, Variable(other.value(), true)));
    kept.eval();
    anew.eval();
    expect_near(trace(kept, g, x), trace(anew, g, learned));
  }
}

// Rows of the last layer alone: the logits of those rows, and the gradients that they give the parameters.
TEST_P(ModelsSparseFeatures, TheLastLayerOfSomeRows) {
  const GcnGraph g = graph();
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{1, 4, 5, 11}, device());
  const GcnGraph last = select_rows(g, rows);
  const Features x(random_tensor({12, 9}, DType::kF64, device(), 5));
  for (const std::int64_t hidden : {2, 6})  // on either side of 3 classes
    for (const double p : {0.0, 0.5}) {
      const GcnOptions options{.in = 9, .hidden = hidden, .classes = 3, .dropout = p};
      Gcn some(options, Random(1), device(), DType::kF64), all(options, Random(1), device(), DType::kF64);
      const Variable part = some.forward(g, x, last), whole = all.forward(g, x);
      EXPECT_EQ(part.shape(), (Shape{4, 3}));
      EXPECT_TRUE(near(part.value(), doubles(take(whole.value(), rows)), 1e-12, 1e-12));
      const Tensor dy = random_tensor({4, 3}, DType::kF64, device(), 7),
                   spread = Tensor::zeros({12, 3}, DType::kF64, device());
      for (const auto& [i, row] : {std::pair{0, 1}, {1, 4}, {2, 5}, {3, 11}})
        spread.slice(row, row + 1).copy_from(dy.slice(i, i + 1));
      part.backward(dy);
      whole.backward(spread);
      for (std::size_t i = 0; i < some.parameters().size(); ++i)
        EXPECT_TRUE(near(some.parameters()[i].grad(), doubles(all.parameters()[i].grad()), 1e-12, 1e-12))
            << i;
    }
  Gcn single({.in = 9, .classes = 3, .layers = 1}, Random(1), device(), DType::kF64);
  EXPECT_ERROR(single.forward(g, x, last),
               "[gcn] computing the last layer for selected rows needs at least two layers");
}

TEST(ModelsInputDropout, IsCheckedAndTakesThePlaceOfDropout) {
  EXPECT_ERROR(Gcn({.in = 3, .classes = 2, .input_dropout = 1}, Random()),
               "[gcn] dropout must be in [0, 1), got 1");
  const GcnGraph g = small_gcn_graph(kCpu);
  const Variable x(random_tensor({12, 9}, DType::kF64, kCpu, 5));
  // The only layer has no other dropout: without it nothing is random.
  Gcn model({.in = 9, .classes = 3, .layers = 1, .dropout = 0.5, .input_dropout = 0}, Random(1), kCpu,
            DType::kF64);
  EXPECT_TRUE(same_bits(model.forward(g, x).value(), model.forward(g, x).value()));
  Gcn random({.in = 9, .classes = 3, .layers = 1, .dropout = 0, .input_dropout = 0.5}, Random(1), kCpu,
             DType::kF64);
  EXPECT_FALSE(same_bits(random.forward(g, x).value(), random.forward(g, x).value()));
}

}  // namespace
}  // namespace rodeo::test
