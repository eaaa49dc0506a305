#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/storage.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/transformer_conv.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

/// 9 nodes, directed: node 3 has no neighbours, node 5 one, node 0 all; edge 7 -> 6 is there twice.
Adjacency small_graph(Device device) {
  std::vector<std::int64_t> row{1, 1, 2, 5, 6, 6, 6, 7, 8, 8, 8}, col{0, 3, 2, 8, 7, 7, 1, 0, 3, 4, 8};
  row.push_back(4), col.push_back(6);
  for (std::int64_t j = 0; j < 9; ++j) row.push_back(0), col.push_back(j);
  return coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), 9, 9).adj;
}

/// Parameters with random values: zero biases would hide mistakes.
template <class Layer>
void randomize(Layer& layer, Device device) {
  std::uint64_t seed = 40;
  for (Variable& p : layer.parameters()) p.set_value(random_tensor(p.shape(), DType::kF64, device, ++seed));
}

const AttentionConvOptions kOptions[] = {
    {.in = 4, .out = 3, .heads = 2},
    {.in = 4, .out = 3, .heads = 2, .merge = HeadMerge::kMean, .negative_slope = 0.05},
    {.in = 4, .out = 5, .heads = 1, .merge = HeadMerge::kMean, .dropout = 0.4, .bias = false},
    {.in = 4, .out = 2, .heads = 2, .residual = true},                                 // x itself
    {.in = 4, .out = 3, .heads = 3, .dropout = 0.3, .bias = false, .residual = true},  // a matrix
    {.in = 4, .out = 1, .heads = 2, .form = AttentionForm::kComposed},
};

std::string describe(const AttentionConvOptions& o) {
  return str(o.heads, " heads x ", o.out, o.merge == HeadMerge::kMean ? " mean" : " concat", ", dropout ",
             o.dropout, o.bias ? ", bias" : "", o.residual ? ", residual" : "", ", ", o.form);
}

template <class Layer>
void check_gradients(Device device) {
  const Adjacency adj = small_graph(device), looped = add_self_loops(adj).adj;
  for (const AttentionConvOptions& options : kOptions)
    for (const Adjacency& graph : {adj, looped}) {
      SCOPED_TRACE(describe(options));
      Random random(1);
      Layer layer(options, random, device, DType::kF64);
      randomize(layer, device);
      const Variable x = random_variable({9, 4}, device, 7);
      EXPECT_TRUE(layer_gradients_ok(
          layer,
          [&](const Variable& h) {
            return layer.forward(graph, h, {5, 6});
          },
          x));
    }
}

/// The layers in float64, in the words of their papers, one node and head at a time.
struct Reference {
  const AttentionConvOptions& options;
  std::vector<std::int64_t> row_ptr;
  std::vector<std::int32_t> col;

  Reference(const AttentionConvOptions& options, const Adjacency& adj)
      : options(options),
        row_ptr(adj.csr().row_ptr.to_vector<std::int64_t>()),
        col(adj.csr().col.to_vector<std::int32_t>()) {}

  double leaky(double v) const { return v > 0 ? v : options.negative_slope * v; }

  /// score(i, j, h); value [nodes, heads, out].   Concatenated, without bias.
  template <class Score>
  std::vector<double> attend(Score&& score, const std::vector<double>& value) const {
    const std::int64_t nodes = static_cast<std::int64_t>(row_ptr.size()) - 1, k = options.out;
    std::vector<double> y(static_cast<std::size_t>(nodes * options.heads * k));
    for (std::int64_t i = 0; i < nodes; ++i)
      for (std::int64_t h = 0; h < options.heads; ++h) {
        double sum = 0;
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) sum += std::exp(score(i, col[e], h));
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
          for (std::int64_t j = 0; j < k; ++j)
            y[(i * options.heads + h) * k + j] +=
                std::exp(score(i, col[e], h)) / sum * value[(col[e] * options.heads + h) * k + j];
      }
    return y;
  }
};

std::vector<double> product(const std::vector<double>& x, const Variable& w) {
  const std::int64_t in = w.dim(0), out = w.dim(1), rows = static_cast<std::int64_t>(x.size()) / in;
  const std::vector<double> wv = doubles(w.value());
  std::vector<double> y(static_cast<std::size_t>(rows * out));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t l = 0; l < in; ++l)
      for (std::int64_t j = 0; j < out; ++j) y[i * out + j] += x[i * in + l] * wv[l * out + j];
  return y;
}

class LayersAttention : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(LayersAttention);

TEST_P(LayersAttention, GatConvGradients) {
  check_gradients<GatConv>(device());
}
TEST_P(LayersAttention, Gatv2ConvGradients) {
  check_gradients<Gatv2Conv>(device());
}
TEST_P(LayersAttention, TransformerConvGradients) {
  check_gradients<TransformerConv>(device());
  const Adjacency adj = small_graph(device());
  const Variable f = random_variable({adj.num_edges(), 2}, device(), 9);
  for (const HeadMerge merge : {HeadMerge::kConcat, HeadMerge::kMean}) {
    Random random(1);
    TransformerConv layer(
        {.in = 4, .out = 2, .heads = 2, .merge = merge, .residual = true, .beta = true, .edge_in = 2}, random,
        device(), DType::kF64);
    randomize(layer, device());
    EXPECT_TRUE(layer_gradients_ok(
        layer,
        [&](const Variable& h) {
          return layer.forward(adj, h, f, {5, 6});
        },
        random_variable({9, 4}, device(), 7)));
  }
}

TEST_P(LayersAttention, GatConvFollowsThePaper) {
  const Adjacency adj = small_graph(device());
  for (const AttentionForm form : {AttentionForm::kAuto, AttentionForm::kComposed}) {
    const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .bias = false, .form = form};
    Random random(1);
    GatConv layer(options, random, device(), DType::kF64);
    const Variable x = random_variable({9, 4}, device(), 7);
    const std::vector<Variable> p = layer.parameters();  // lin.weight, att_dst, att_src
    const std::vector<double> z = product(doubles(x.value()), p[0]), dst = doubles(p[1].value()),
                              src = doubles(p[2].value());
    const Reference reference(options, adj);
    const auto score = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
      double e = 0;
      for (int l = 0; l < 3; ++l)
        e += dst[h * 3 + l] * z[i * 6 + h * 3 + l] + src[h * 3 + l] * z[j * 6 + h * 3 + l];
      return reference.leaky(e);
    };
    const Tensor y = layer.forward(adj, x, {}).value();
    EXPECT_TRUE(near(y, reference.attend(score, z), 1e-12, 1e-14)) << form;
    EXPECT_TRUE(near(y.slice(3, 4), std::vector<double>(6), 0, 0));  // no neighbours
  }
}

TEST_P(LayersAttention, Gatv2ConvFollowsThePaper) {
  const Adjacency adj = small_graph(device());
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .bias = false};
  Random random(1);
  Gatv2Conv layer(options, random, device(), DType::kF64);
  const Variable x = random_variable({9, 4}, device(), 7);
  const std::vector<Variable> params = layer.parameters();  // lin_r.weight, lin_l.weight, att
  const std::vector<double> p = product(doubles(x.value()), params[0]),
                            q = product(doubles(x.value()), params[1]), a = doubles(params[2].value());
  const Reference reference(options, adj);
  const auto score = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
    double e = 0;
    for (int l = 0; l < 3; ++l)
      e += a[h * 3 + l] * reference.leaky(p[i * 6 + h * 3 + l] + q[j * 6 + h * 3 + l]);
    return e;
  };
  EXPECT_TRUE(near(layer.forward(adj, x, {}).value(), reference.attend(score, q), 1e-12, 1e-14));
}

TEST_P(LayersAttention, TransformerConvFollowsThePaper) {
  const Adjacency adj = small_graph(device());
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .bias = false};
  Random random(1);
  TransformerConv layer(options, random, device(), DType::kF64);
  const Variable x = random_variable({9, 4}, device(), 7);
  const std::vector<Variable> params = layer.parameters();  // key, query, value
  const std::vector<double> xv = doubles(x.value()), k = product(xv, params[0]), q = product(xv, params[1]);
  const auto score = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
    double e = 0;
    for (int l = 0; l < 3; ++l) e += q[i * 6 + h * 3 + l] * k[j * 6 + h * 3 + l];
    return e / std::sqrt(3.0);
  };
  EXPECT_TRUE(near(layer.forward(adj, x, {}).value(),
                   Reference(options, adj).attend(score, product(xv, params[2])), 1e-12, 1e-14));
}

TEST_P(LayersAttention, TheResidualHasAMatrixWhereWidthsDiffer) {
  for (const std::int64_t out : {2, 3}) {
    Random random(1);
    GatConv layer({.in = 4, .out = out, .heads = 2, .bias = false, .residual = true}, random, device());
    const auto names = layer.named_parameters();
    ASSERT_EQ(names.size(), out == 2 ? 3u : 4u);
    EXPECT_EQ(names.back().first, out == 2 ? "att_src" : "res.weight");
  }
}

TEST_P(LayersAttention, MeanResidualAndBiasAreAddedToTheHeads) {
  const Adjacency adj = small_graph(device());
  Random random(1), same(1);
  AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .bias = false};
  const GatConv plain(options, random, device(), DType::kF64);
  options.merge = HeadMerge::kMean;
  options.bias = options.residual = true;
  GatConv full(options, same, device(), DType::kF64);
  const auto names = full.named_parameters();
  ASSERT_EQ(names.size(), 5u);
  Variable residual = names[3].second, bias = names[4].second;
  EXPECT_EQ(names[3].first, "res.weight");
  EXPECT_EQ(names[4].first, "bias");
  bias.set_value(random_tensor({3}, DType::kF64, device(), 3));

  const Variable x = random_variable({9, 4}, device(), 7);
  const std::vector<double> heads = doubles(plain.forward(adj, x, {}).value()),
                            added = product(doubles(x.value()), residual), b = doubles(bias.value());
  std::vector<double> want(9 * 3);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 3; ++j)
      want[i * 3 + j] = (heads[i * 6 + j] + heads[i * 6 + 3 + j]) / 2 + added[i * 3 + j] + b[j];
  EXPECT_EQ(full.width(), 3);
  EXPECT_EQ(plain.width(), 6);
  EXPECT_TRUE(near(full.forward(adj, x, {}).value(), want, 1e-12, 1e-14));
}

template <class Layer>
void check_dropout(Device device) {
  const Adjacency adj = small_graph(device);
  Random random(1);
  Layer layer({.in = 4, .out = 3, .heads = 2, .dropout = 0.5}, random, device, DType::kF64);
  const Variable x = random_variable({9, 4}, device, 7);
  const auto run = [&](RandomKey key) { return layer.forward(adj, x, key).value(); };
  EXPECT_TRUE(same_bits(run({1, 2}), run({1, 2})));
  EXPECT_FALSE(same_bits(run({1, 2}), run({1, 3})));
  layer.eval();
  EXPECT_TRUE(same_bits(run({1, 2}), run({1, 3})));
}

TEST_P(LayersAttention, DropoutFollowsTheKeyWhileTraining) {
  check_dropout<GatConv>(device());
  check_dropout<Gatv2Conv>(device());
  check_dropout<TransformerConv>(device());
}

TEST_P(LayersAttention, WeightsAreTheSameOnEveryDevice) {
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2};
  Random a(3), b(3);
  const GatConv here(options, a, device()), there(options, b, kCpu);
  const auto p = here.named_parameters(), q = there.named_parameters();
  const std::vector<std::pair<std::string, Shape>> want{
      {"lin.weight", {4, 6}}, {"att_dst", {2, 3}}, {"att_src", {2, 3}}, {"bias", {6}}};
  ASSERT_EQ(p.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(p[i].first, want[i].first);
    EXPECT_EQ(p[i].second.shape(), want[i].second);
    EXPECT_TRUE(same_bits(p[i].second.value(), q[i].second.value()));
  }
}

// Uniform within 1 / sqrt(columns of the input), biases too.
TEST_P(LayersAttention, TransformerConvBeginsWithinTheBoundsOfLinear) {
  Random random(1);
  const TransformerConv layer(
      {.in = 4, .out = 64, .heads = 2, .residual = true, .beta = true, .in_dst = 25, .edge_in = 9}, random,
      device(), DType::kF64);
  const std::map<std::string, double> columns{{"lin_key", 4},  {"lin_query", 25}, {"lin_value", 4},
                                              {"lin_edge", 9}, {"lin_skip", 25},  {"lin_beta", 3 * 128}};
  for (const auto& [name, parameter] : layer.named_parameters()) {
    const double bound = 1 / std::sqrt(columns.at(name.substr(0, name.find('.'))));
    double most = 0;
    for (const double w : doubles(parameter.value())) most = std::max(most, std::abs(w));
    EXPECT_LE(most, bound) << name;
    EXPECT_GT(most, 0.9 * bound) << name;
  }
}

TEST_P(LayersAttention, AGraphWithoutEdgesGivesTheBias) {
  const Tensor none = Tensor::zeros({0}, DType::kI64, device());
  const Adjacency adj = coo_to_csr(none, none, 9, 9).adj;
  const Variable x = random_variable({9, 4}, device(), 7);
  Random random(1);
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2};
  const GatConv gat(options, random, device(), DType::kF64);
  const Gatv2Conv gatv2(options, random, device(), DType::kF64);
  const TransformerConv dot(options, random, device(), DType::kF64);
  for (const Variable& y : {gat.forward(adj, x, {}), gatv2.forward(adj, x, {}), dot.forward(adj, x, {})})
    EXPECT_TRUE(near(y.value(), std::vector<double>(9 * 6), 0, 0));
}

TEST_P(LayersAttention, Errors) {
  Random random;
  EXPECT_ERROR(GatConv({.in = 4, .out = 0}, random),
               "[gat_conv] in, out and heads must be >= 1, got 4, 0 and 1");
  EXPECT_ERROR(TransformerConv({.in = 4, .out = 2, .beta = true}, random),
               "[transformer_conv] beta is of the residual of transformer_conv: leave it out");
  EXPECT_ERROR(Gatv2Conv({.in = 4, .out = 2, .dropout = 1}, random),
               "[gatv2_conv] dropout must be in [0, 1), got 1");
  const TransformerConv layer({.in = 4, .out = 3}, random, device());
  const Adjacency adj = small_graph(device());
  EXPECT_ERROR(layer.forward(adj, Variable(Tensor::zeros({9, 5}, DType::kF32, device())), {}),
               "[transformer_conv] x must be [9, 4], got [9, 5]");
  const Variable x(Tensor::zeros({9, 4}, DType::kF32, device()));
  EXPECT_ERROR(layer.forward(Adjacency(), x, {}), "[transformer_conv] the graph is undefined");
  const Tensor id = Tensor::zeros({1}, DType::kI64, device());
  EXPECT_ERROR(layer.forward(coo_to_csr(id, id, 9, 8).adj, x, {}),
               "[transformer_conv] the graph must be square, got 9 x 8");
}

}  // namespace
}  // namespace rodeo::test
