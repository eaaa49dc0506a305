#include "layers/appnp.h"
#include "layers/gin_conv.h"
#include "layers/graph_conv.h"
#include "layers/jumping_knowledge.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/sage_conv.h"
#include "layers/sg_conv.h"
#include "ops/dense.h"
#include "ops/edge_dropout.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersGraph : public OnDevice {
 protected:
  static constexpr std::int64_t kNodes = 12;
  /// Without the self loops that gcn_norm adds.
  static Adjacency graph() {
    std::vector<std::int64_t> row, col;
    for (std::int64_t i = 0; i < kNodes; ++i)
      if (i != 5) {  // a node without neighbours
        row.insert(row.end(), {i, i, i});
        col.insert(col.end(), {(i * 5 + 1) % kNodes, (i * i) % kNodes, (i + 3) % kNodes});
      }
    return coo_to_csr(Tensor::from(row, device()), Tensor::from(col, device()), kNodes, kNodes).adj;
  }
  static Variable features(std::int64_t n) { return random_variable({kNodes, n}, device(), 7); }
};
RODEO_ON_ALL_DEVICES(LayersGraph);

/// Random values instead of zeros and ones, which would hide mistakes.
void randomize(Module& layer, Device device) {
  std::uint64_t seed = 40;
  for (Variable& p : layer.parameters()) p.set_value(random_tensor(p.shape(), DType::kF64, device, ++seed));
}

/// A row-major matrix on the host.
struct Matrix {
  std::int64_t rows, cols;
  std::vector<double> at;
  Matrix(std::int64_t rows, std::int64_t cols)
      : rows(rows), cols(cols), at(static_cast<std::size_t>(rows * cols)) {}
  explicit Matrix(const Variable& v)
      : rows(v.dim(0)), cols(v.shape().rank() > 1 ? v.dim(1) : 1), at(doubles(v.value())) {}
  double& operator()(std::int64_t i, std::int64_t j) { return at[i * cols + j]; }
  double operator()(std::int64_t i, std::int64_t j) const { return at[i * cols + j]; }
};

Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < b.cols; ++j)
      for (std::int64_t l = 0; l < a.cols; ++l) c(i, j) += a(i, l) * b(l, j);
  return c;
}

/// reduce over the edges of each row, edge by edge.
Matrix reduced(const Adjacency& adj, const std::vector<double>& weight, const Matrix& x, Reduce reduce) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  Matrix y(adj.rows(), x.cols);
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (std::int64_t j = 0; j < x.cols; ++j) {
      double sum = 0, top = 0, bottom = 0;
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        const double term = (weight.empty() ? 1 : weight[e]) * x(col[e], j);
        sum += term;
        top = e == row_ptr[i] ? term : std::max(top, term);
        bottom = e == row_ptr[i] ? term : std::min(bottom, term);
      }
      const auto count = static_cast<double>(std::max<std::int64_t>(1, row_ptr[i + 1] - row_ptr[i]));
      y(i, j) = reduce == Reduce::kSum    ? sum
                : reduce == Reduce::kMean ? sum / count
                : reduce == Reduce::kMax  ? top
                                          : bottom;
    }
  return y;
}

/// D^-1/2 (A + I) D^-1/2 x.
Matrix propagated(const Adjacency& looped, const Matrix& x) {
  const auto row_ptr = looped.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = looped.csr().col.to_vector<std::int32_t>();
  const auto degree = [&](std::int64_t i) { return static_cast<double>(row_ptr[i + 1] - row_ptr[i]); };
  Matrix y(x.rows, x.cols);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      for (std::int64_t j = 0; j < x.cols; ++j)
        y(i, j) += x(col[e], j) / std::sqrt(degree(i) * degree(col[e]));
  return y;
}

std::vector<double> plus(const Matrix& a, const Matrix& b, const std::vector<double>& bias = {}) {
  std::vector<double> out(a.at);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] += b.at[i] + (bias.empty() ? 0 : bias[i % static_cast<std::size_t>(a.cols)]);
  return out;
}

constexpr Reduce kReductions[] = {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin};

TEST_P(LayersGraph, SageConv) {
  const Adjacency adj = graph();
  for (const auto& [in, out] : {std::pair{5, 3}, {3, 5}})
    for (const Reduce reduce : kReductions) {
      Random random(1);
      SageConv layer({.in = in, .out = out, .aggr = reduce}, random, device(), DType::kF64);
      randomize(layer, device());
      const Variable x = features(in);
      const std::vector<Variable> p = layer.parameters();  // lin_l.weight, lin_l.bias, lin_r.weight
      ASSERT_EQ(p.size(), 3u);
      EXPECT_EQ(layer.named_parameters()[2].first, "lin_r.weight");
      const Matrix around = times(reduced(adj, {}, Matrix(x), reduce), Matrix(p[0]));
      EXPECT_TRUE(near(layer.forward(adj, x).value(),
                       plus(around, times(Matrix(x), Matrix(p[2])), doubles(p[1].value())), 1e-12, 1e-13))
          << reduce;
      EXPECT_TRUE(layer_gradients_ok(
          layer, [&](const Variable& h) { return layer.forward(adj, h); }, x));
    }
}

TEST_P(LayersGraph, SageConvNormalizesAndMayForgetTheRoot) {
  const Adjacency adj = graph();
  Random random(1);
  SageConv layer({.in = 4, .out = 3, .normalize = true, .root_weight = false}, random, device(), DType::kF64);
  randomize(layer, device());
  const Variable x = features(4);
  const std::vector<Variable> p = layer.parameters();
  ASSERT_EQ(p.size(), 2u);
  Matrix want = times(reduced(adj, {}, Matrix(x), Reduce::kMean), Matrix(p[0]));
  for (std::int64_t i = 0; i < kNodes; ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < 3; ++j) want(i, j) += doubles(p[1].value())[j];
    for (std::int64_t j = 0; j < 3; ++j) squares += want(i, j) * want(i, j);
    for (std::int64_t j = 0; j < 3; ++j) want(i, j) /= std::sqrt(squares);
  }
  EXPECT_TRUE(near(layer.forward(adj, x).value(), want.at, 1e-12, 1e-13));
  EXPECT_TRUE(layer_gradients_ok(
      layer, [&](const Variable& h) { return layer.forward(adj, h); }, x));
}

TEST_P(LayersGraph, GraphConvWithEdgeWeights) {
  const Adjacency adj = graph();
  const Variable weight = random_variable({adj.num_edges()}, device(), 11);
  for (const Reduce reduce : kReductions) {
    Random random(1);
    GraphConv layer({.in = 5, .out = 3, .aggr = reduce}, random, device(), DType::kF64);
    randomize(layer, device());
    const Variable x = features(5);
    const std::vector<Variable> p = layer.parameters();  // lin_rel.weight, lin_rel.bias, lin_root.weight
    for (const bool weighted : {true, false}) {
      const Variable w = weighted ? weight : Variable();
      const Matrix around =
          times(reduced(adj, weighted ? doubles(weight.value()) : std::vector<double>(), Matrix(x), reduce),
                Matrix(p[0]));
      EXPECT_TRUE(near(layer.forward(adj, w, x).value(),
                       plus(around, times(Matrix(x), Matrix(p[2])), doubles(p[1].value())), 1e-12, 1e-13));
    }
    EXPECT_TRUE(gradients_ok([&](const auto&) { return layer.forward(adj, weight, x); },
                             {p[0], p[1], p[2], weight, x}));
  }
}

std::unique_ptr<Sequential> perceptron(Device device, std::int64_t hidden, bool bias) {
  Random random(3);
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(4, hidden, random, bias, device, DType::kF64))
      .add([](const Variable& x) { return elu(x); })
      .add(std::make_unique<Linear>(hidden, 2, random, true, device, DType::kF64));
  return nn;
}

TEST_P(LayersGraph, GinConv) {
  const Adjacency adj = graph();
  const Variable x = features(4);
  for (const std::int64_t hidden : {6, 3})  // the sum runs before or after the first product
    for (const bool learned : {false, true}) {
      const bool bias = hidden == 6 || learned;
      const std::unique_ptr<Sequential> same = perceptron(device(), hidden, bias);
      const GinConv layer(perceptron(device(), hidden, bias), {.eps = 0.3, .train_eps = learned}, device(),
                          DType::kF64);
      Matrix in = reduced(adj, {}, Matrix(x), Reduce::kSum);
      for (std::size_t i = 0; i < in.at.size(); ++i) in.at[i] += 1.3 * doubles(x.value())[i];
      const Tensor want = same->forward(Variable(Tensor::from(in.at, {kNodes, 4}, device()))).value();
      EXPECT_TRUE(near(layer.forward(adj, x).value(), doubles(want), 1e-12, 1e-13));
      EXPECT_EQ(layer.parameters().size(), 3u + (learned ? 1 : 0) + (bias ? 1 : 0));
      EXPECT_EQ(layer.state_dict()[0].first, "eps");
      EXPECT_EQ(layer.state_dict().back().first, "nn.2.bias");
      EXPECT_TRUE(layer_gradients_ok(
          layer, [&](const Variable& h) { return layer.forward(adj, h); }, x));
    }
  auto no_product = std::make_unique<Sequential>();
  no_product->add([](const Variable& x) { return elu(x); });
  const Features sparse = sparse_features(adj, Tensor::full({adj.num_edges()}, 1, DType::kF64, device()));
  EXPECT_ERROR(GinConv(std::move(no_product), {}, device(), DType::kF64).forward(adj, sparse),
               "[gin_conv] sparse x needs an nn that begins with a Linear layer");
  EXPECT_ERROR(GinConv(nullptr), "[gin_conv] nn must not be null");
}

TEST_P(LayersGraph, SgConvAndWhatItKeeps) {
  const GcnGraph g = gcn_norm(graph(), {}, DType::kF64);
  for (const auto& [in, out] : {std::pair{5, 3}, {3, 5}}) {
    Random random(1), again(1);
    const SgConv layer({.in = in, .out = out, .hops = 3}, random, device(), DType::kF64),
        cached({.in = in, .out = out, .hops = 3, .cached = true}, again, device(), DType::kF64);
    const Variable x = features(in), constant(x.value()),
                   other(random_tensor({kNodes, in}, DType::kF64, device(), 8));
    const std::vector<Variable> p = layer.parameters();
    Matrix h(x);
    for (int hop = 0; hop < 3; ++hop) h = propagated(g.adj, h);
    const std::vector<double> want = plus(times(h, Matrix(p[0])), Matrix(kNodes, out), doubles(p[1].value()));
    EXPECT_TRUE(near(layer.forward(g, x).value(), want, 1e-12, 1e-13));
    for (int time = 0; time < 2; ++time) {
      EXPECT_TRUE(near(cached.forward(g, constant).value(), want, 1e-12, 1e-13));
      EXPECT_TRUE(
          near(cached.forward(g, other).value(), doubles(layer.forward(g, other).value()), 1e-12, 1e-13));
    }
    for (const SgConv* each : {&layer, &cached})  // x needs a gradient: nothing is kept
      EXPECT_TRUE(layer_gradients_ok(
          *each, [&](const Variable& in) { return each->forward(g, in); }, x));
  }
}

TEST_P(LayersGraph, Appnp) {
  const GcnGraph g = gcn_norm(graph(), {}, DType::kF64);
  Appnp layer({.hops = 3, .alpha = 0.2, .dropout = 0.4});
  const Variable x = features(4);
  EXPECT_TRUE(same_bits(layer.forward(g, x, {1, 2}).value(), layer.forward(g, x, {1, 2}).value()));
  EXPECT_FALSE(same_bits(layer.forward(g, x, {1, 2}).value(), layer.forward(g, x, {1, 3}).value()));
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return layer.forward(g, in[0], {1, 2}); }, {x}));
  layer.eval();
  Matrix z(x);
  for (int hop = 0; hop < 3; ++hop) {
    z = propagated(g.adj, z);
    for (std::size_t i = 0; i < z.at.size(); ++i) z.at[i] = 0.8 * z.at[i] + 0.2 * doubles(x.value())[i];
  }
  EXPECT_TRUE(near(layer.forward(g, x).value(), z.at, 1e-12, 1e-13));
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return layer.forward(g, in[0]); }, {x}));
  EXPECT_ERROR(Appnp({.alpha = 2}), "[appnp] alpha must be in [0, 1], got 2");
}

TEST_P(LayersGraph, NormLayersTakeTheirMomentumAndEpsilon) {
  const Variable x(Tensor::from(std::vector<double>{0, 4}, {2, 1}).to(device()));
  BatchNorm batch(1, {.momentum = 0.25}, device(), DType::kF64);
  batch.forward(x);  // mean 2, unbiased variance 8
  EXPECT_EQ(batch.named_buffers()[0].second.item(), 0.5);
  EXPECT_EQ(batch.named_buffers()[1].second.item(), 0.75 + 2);
  const Variable row(Tensor::from(std::vector<double>{0, 4}, {1, 2}).to(device()));  // variance 4
  EXPECT_TRUE(near(LayerNorm(2, 12, false, device(), DType::kF64).forward(row).value(), {-0.5, 0.5}, 1e-12));
}

TEST_P(LayersGraph, NormLayers) {
  BatchNorm batch(5, {}, device(), DType::kF64);
  LayerNorm layer(5, 1e-5, true, device(), DType::kF64);
  const auto names = batch.state_dict();
  ASSERT_EQ(names.size(), 4u);
  EXPECT_EQ(names[0].first, "module.weight");
  EXPECT_EQ(names[3].first, "module.running_var");
  randomize(batch, device());
  randomize(layer, device());
  const Variable x = features(5);
  const Tensor before = batch.named_buffers()[0].second.clone(), y = batch.forward(x).value();
  EXPECT_FALSE(same_bits(batch.named_buffers()[0].second, before));
  batch.eval();
  EXPECT_FALSE(same_bits(batch.forward(x).value(), y));
  EXPECT_TRUE(layer_gradients_ok(
      batch, [&](const Variable& h) { return batch.forward(h); }, x));
  EXPECT_TRUE(layer_gradients_ok(
      layer, [&](const Variable& h) { return layer.forward(h); }, x));
}

TEST_P(LayersGraph, JumpingKnowledge) {
  const Variable a = features(3), b = random_variable({kNodes, 3}, device(), 8),
                 c = random_variable({kNodes, 3}, device(), 9);
  const JumpingKnowledge cat(JumpingMode::kCat), max(JumpingMode::kMax);
  const Variable side = cat.forward({a, b, c}), top = max.forward({a, b, c});
  EXPECT_EQ(side.shape(), (Shape{kNodes, 9}));
  std::vector<double> want = doubles(a.value());
  for (std::size_t i = 0; i < want.size(); ++i)
    want[i] = std::max({want[i], doubles(b.value())[i], doubles(c.value())[i]});
  EXPECT_TRUE(near(top.value(), want, 0, 0));
  for (const JumpingKnowledge* layer : {&cat, &max})
    EXPECT_TRUE(gradients_ok(
        [&](const auto& in) {
          return layer->forward({in[0], in[1], in[2]});
        },
        {a, b, c}));
  EXPECT_ERROR(cat.forward({}), "[jumping_knowledge] needs the output of at least one layer");
}

TEST_P(LayersGraph, StateDictHasTorchsLayoutAndReturns) {
  Random random(1), other(2);
  SageConv from({.in = 5, .out = 3}, random, device()), to({.in = 5, .out = 3}, other, device());
  const StateDict state = from.state_dict();
  ASSERT_EQ(state[0].first, "lin_l.weight");
  EXPECT_EQ(state[0].second.shape(), (Shape{3, 5}));
  EXPECT_EQ(doubles(state[0].second)[1], doubles(from.parameters()[0].value())[3]);
  to.load_state_dict(state);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(same_bits(to.parameters()[i].value(), from.parameters()[i].value()));
  EXPECT_ERROR(to.load_state_dict({state[0], state[1]}), "[module] the state has no 'lin_r.weight'");
  EXPECT_ERROR(to.load_state_dict({{"w", state[0].second}}),
               "[module] there is no parameter or buffer named 'w'");
  EXPECT_ERROR(to.load_state_dict({{"lin_l.bias", state[0].second}}),
               "[module] lin_l.bias must be f32 [3], got f32 [3, 5]");

  BatchNorm norm(3, {}, device()), copy(3, {}, device());
  norm.forward(Variable(random_tensor({9, 3}, DType::kF32, device())));
  copy.load_state_dict(norm.state_dict());
  EXPECT_TRUE(same_bits(copy.named_buffers()[1].second, norm.named_buffers()[1].second));
  copy.to(kCpu);
  EXPECT_EQ(copy.named_buffers()[1].second.device(), kCpu);
}

TEST_P(LayersGraph, Errors) {
  Random random;
  const SageConv layer({.in = 4, .out = 3}, random, device());
  EXPECT_ERROR(layer.forward(graph(), Variable(Tensor::zeros({12, 5}, DType::kF32, device()))),
               "[sage_conv] x must be [12, 4], got [12, 5]");
  EXPECT_ERROR(layer.forward({}, Variable(Tensor::zeros({12, 4}, DType::kF32, device()))),
               "[sage_conv] the graph is undefined");
  EXPECT_ERROR(SgConv({.in = 4, .out = 3, .hops = 0}, random), "[sg_conv] hops must be >= 1, got 0");
}

TEST_P(LayersGraph, SgConvKeepsThePropagationOfOneGraphOnly) {
  const Adjacency around = graph(), back = transpose(around).adj;
  const GcnGraph g = gcn_norm(around, {}, DType::kF64), other = gcn_norm(back, {}, DType::kF64);
  Random random(1), again(1);
  const SgConv layer({.in = 4, .out = 3}, random, device(), DType::kF64),
      cached({.in = 4, .out = 3, .cached = true}, again, device(), DType::kF64);
  const Variable x(features(4).value());
  for (const GcnGraph& each : {g, other, g})
    EXPECT_TRUE(near(cached.forward(each, x).value(), doubles(layer.forward(each, x).value()), 1e-12, 1e-13));
  const Variable learned = features(4);
  cached.forward(g, learned).backward(Tensor::full({kNodes, 3}, 1, DType::kF64, device()));
  EXPECT_TRUE(learned.grad().defined());
}

TEST_P(LayersGraph, SgConvWithoutACacheReadsWhatXIsNow) {
  const GcnGraph g = gcn_norm(graph(), {}, DType::kF64);
  Random random(1);
  const SgConv layer({.in = 3, .out = 5}, random, device(), DType::kF64);
  const Variable x(features(3).value().clone()), other(random_tensor({kNodes, 3}, DType::kF64, device(), 8));
  layer.forward(g, x);
  x.value().copy_from(other.value());
  const Tensor again = layer.forward(g, x).value();  // first: a cache would take up the other x
  EXPECT_TRUE(same_bits(again, layer.forward(g, other).value()));
}

// Every hop drops other edges, and a weight is dropped together with its edge.
TEST_P(LayersGraph, AppnpDrawsAMaskForEachHop) {
  const Adjacency adj = graph();
  for (const bool weighted : {false, true}) {
    const Tensor weight = weighted ? random_tensor({adj.num_edges()}, DType::kF64, device(), 5) : Tensor();
    const GcnGraph g = gcn_norm(adj, weight, DType::kF64);
    const Appnp layer({.hops = 3, .alpha = 0.2, .dropout = 0.4});
    const Variable x = features(4);
    const std::int64_t edges = g.adj.num_edges();
    std::vector<Tensor> masks;
    for (std::uint64_t hop = 0; hop < 3; ++hop)
      masks.push_back(edge_dropout(g.adj, Tensor::full({edges, 1}, 1, DType::kF64, device()), 0.4,
                                   {1 + (hop + 1) * 0xD1B54A32D192ED03u, 2}));
    EXPECT_FALSE(same_bits(masks[0], masks[1]));
    Variable z = x;
    for (int hop = 0; hop < 3; ++hop) {
      std::vector<double> kept = doubles(masks[static_cast<std::size_t>(hop)]);
      if (weighted)
        for (std::size_t e = 0; e < kept.size(); ++e) kept[e] *= doubles(g.weight)[e];
      const GcnGraph own{g.adj, Tensor::from(kept, device()), g.scale};
      const std::vector<double> far = doubles(propagate(own, z).value()), near_by = doubles(x.value());
      std::vector<double> next(far.size());
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = 0.8 * far[i] + 0.2 * near_by[i];
      z = Variable(Tensor::from(next, x.shape(), device()));
    }
    EXPECT_TRUE(near(layer.forward(g, x, {1, 2}).value(), doubles(z.value()), 1e-12, 1e-13)) << weighted;
  }
}

}  // namespace
}  // namespace rodeo::test
