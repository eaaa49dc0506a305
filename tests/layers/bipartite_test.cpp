// Layers on a bipartite graph, against dense formulas in float64.
#include "layers/bipartite.h"

#include "core/storage.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/sage_conv.h"
#include "layers/transformer_conv.h"
#include "ops/combine.h"
#include "ops/dense_csr.h"
#include "ops/epilogue.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

constexpr std::int64_t kDst = 6, kSrc = 9;

/// Destination 1 has no sources, source columns repeat, destination 3 has all kinds.
Adjacency bipartite_graph(Device device) {
  return graph_with_lengths({3, 0, 1, 12, 2, 5}, kSrc).to(device);
}

/// A matrix of doubles.
struct Dense {
  std::int64_t rows, cols;
  std::vector<double> v;
  Dense(std::int64_t rows, std::int64_t cols)
      : rows(rows), cols(cols), v(static_cast<std::size_t>(rows * cols)) {}
  explicit Dense(const Tensor& x) : rows(x.dim(0)), cols(x.dim(1)), v(doubles(x)) {}
  double& at(std::int64_t i, std::int64_t j) { return v[static_cast<std::size_t>(i * cols + j)]; }
  double at(std::int64_t i, std::int64_t j) const { return v[static_cast<std::size_t>(i * cols + j)]; }
};

Dense product(const Dense& a, const Dense& b) {
  Dense y(a.rows, b.cols);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t l = 0; l < a.cols; ++l)
      for (std::int64_t j = 0; j < b.cols; ++j) y.at(i, j) += a.at(i, l) * b.at(l, j);
  return y;
}

/// Random values: zero biases would hide mistakes. Returns the parameters by name.
std::function<Variable(const std::string&)> randomize(Module& layer) {
  std::uint64_t seed = 40;
  for (Variable& p : layer.parameters())
    p.set_value(random_tensor(p.shape(), DType::kF64, p.device(), ++seed));
  return [&layer](const std::string& wanted) {
    for (const auto& [name, parameter] : layer.named_parameters())
      if (name == wanted) return parameter;
    ADD_FAILURE() << "no parameter " << wanted;
    return Variable();
  };
}

/// counts[i, j]: how often source j is among the edges of destination i.
Dense counts(const Adjacency& adj) {
  return Dense(csr_to_dense(adj, DType::kF64));
}

/// Softmax over the edges of each row, then the sum of value[j, h * k + l]; with the bias.
template <class Score>
std::vector<double> attend(const Adjacency& adj, std::int64_t heads, const Dense& value, const Tensor& bias,
                           Score&& score) {
  const Dense edges = counts(adj);
  const std::int64_t k = value.cols / heads;
  const std::vector<double> b = doubles(bias);
  Dense y(edges.rows, value.cols);
  for (std::int64_t i = 0; i < edges.rows; ++i)
    for (std::int64_t c = 0; c < value.cols; ++c) {
      double sum = 0, weighted = 0;
      for (std::int64_t j = 0; j < edges.cols; ++j) {
        const double weight = edges.at(i, j) * std::exp(score(i, j, c / k));
        sum += weight;
        weighted += weight * value.at(j, c);
      }
      y.at(i, c) = (sum > 0 ? weighted / sum : 0) + b[static_cast<std::size_t>(c)];
    }
  return y.v;
}

double leaky(double v) {
  return v > 0 ? v : 0.2 * v;
}

class LayersBipartite : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(LayersBipartite);

TEST_P(LayersBipartite, SageFollowsItsFormula) {
  const Adjacency adj = bipartite_graph(device());
  const Dense edges = counts(adj);
  for (const auto& [in, in_dst, out] : {std::tuple{4, 3, 5}, {5, 3, 2}, {4, 0, 5}}) {
    Random random(1);
    SageConv layer({.in = in, .out = out, .in_dst = in_dst}, random, device(), DType::kF64);
    const auto parameter = randomize(layer);
    const Variable src = random_variable({kSrc, in}, device(), 7),
                   dst = random_variable({kDst, in_dst > 0 ? in_dst : in}, device(), 8);
    Dense mean(kDst, in);
    const Dense x(src.value());
    for (std::int64_t i = 0; i < kDst; ++i)
      for (std::int64_t c = 0; c < in; ++c) {
        double sum = 0, degree = 0;
        for (std::int64_t j = 0; j < kSrc; ++j) {
          degree += edges.at(i, j);
          sum += edges.at(i, j) * x.at(j, c);
        }
        mean.at(i, c) = degree > 0 ? sum / degree : 0;
      }
    Dense want = product(mean, Dense(parameter("lin_l.weight").value()));
    const Dense root = product(Dense(dst.value()), Dense(parameter("lin_r.weight").value()));
    const std::vector<double> b = doubles(parameter("lin_l.bias").value());
    for (std::int64_t i = 0; i < kDst; ++i)
      for (std::int64_t c = 0; c < out; ++c) want.at(i, c) += root.at(i, c) + b[static_cast<std::size_t>(c)];
    EXPECT_TRUE(near(layer.forward(adj, {src, dst}).value(), want.v, 1e-12, 1e-14)) << in << " " << out;
  }
}

TEST_P(LayersBipartite, SageGradientsAndOptions) {
  const Adjacency adj = bipartite_graph(device());
  const Variable src = random_variable({kSrc, 4}, device(), 7), dst = random_variable({kDst, 3}, device(), 8);
  for (const Reduce aggr : {Reduce::kMean, Reduce::kSum, Reduce::kMax})
    for (const bool root : {true, false}) {
      Random random(1);
      const SageConv layer({.in = 4, .out = 5, .aggr = aggr, .root_weight = root, .in_dst = 3}, random,
                           device(), DType::kF64);
      std::vector<Variable> inputs = layer.parameters();
      inputs.push_back(src);
      if (root) inputs.push_back(dst);
      const auto forward = [&](const auto&) { return layer.forward(adj, {src, dst}); };
      EXPECT_TRUE(gradients_ok(forward, inputs)) << aggr << root;
      if (!root) {
        EXPECT_TRUE(same_bits(layer.forward(adj, {src, Features()}).value(), forward(inputs).value()));
      }
    }
}

TEST_P(LayersBipartite, GatFollowsThePaper) {
  const Adjacency adj = bipartite_graph(device());
  for (const std::int64_t in_dst : {0, 5})
    for (const AttentionForm form : {AttentionForm::kAuto, AttentionForm::kComposed}) {
      Random random(1);
      GatConv layer({.in = 4, .out = 3, .heads = 2, .form = form, .in_dst = in_dst}, random, device(),
                    DType::kF64);
      const auto parameter = randomize(layer);
      const Variable src = random_variable({kSrc, 4}, device(), 7),
                     dst = random_variable({kDst, in_dst > 0 ? in_dst : 4}, device(), 8);
      const Variable w_src = parameter(in_dst > 0 ? "lin_src.weight" : "lin.weight"),
                     w_dst = in_dst > 0 ? parameter("lin_dst.weight") : w_src;
      const Dense z_src = product(Dense(src.value()), Dense(w_src.value())),
                  z_dst = product(Dense(dst.value()), Dense(w_dst.value())),
                  a_src(parameter("att_src").value()), a_dst(parameter("att_dst").value());
      const auto score = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
        double e = 0;
        for (std::int64_t l = 0; l < 3; ++l)
          e += a_dst.at(h, l) * z_dst.at(i, h * 3 + l) + a_src.at(h, l) * z_src.at(j, h * 3 + l);
        return leaky(e);
      };
      EXPECT_TRUE(near(layer.forward(adj, {src, dst}, {}).value(),
                       attend(adj, 2, z_src, parameter("bias").value(), score), 1e-12, 1e-14))
          << in_dst << form;
    }
}

TEST_P(LayersBipartite, Gatv2AndDotProductFollowThePapers) {
  const Adjacency adj = bipartite_graph(device());
  const Variable src = random_variable({kSrc, 4}, device(), 7), dst = random_variable({kDst, 5}, device(), 8);
  const Dense x_src(src.value()), x_dst(dst.value());
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .in_dst = 5};
  Random random(1);
  Gatv2Conv v2(options, random, device(), DType::kF64);
  auto parameter = randomize(v2);
  const auto affine = [&](const Dense& x, const std::string& name) {
    Dense y = product(x, Dense(parameter(name + ".weight").value()));
    const std::vector<double> b = doubles(parameter(name + ".bias").value());
    for (std::int64_t i = 0; i < y.rows; ++i)
      for (std::int64_t c = 0; c < y.cols; ++c) y.at(i, c) += b[static_cast<std::size_t>(c)];
    return y;
  };
  const Dense p = affine(x_dst, "lin_r"), q = affine(x_src, "lin_l"), a(parameter("att").value());
  const auto additive = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
    double e = 0;
    for (std::int64_t l = 0; l < 3; ++l) e += a.at(h, l) * leaky(p.at(i, h * 3 + l) + q.at(j, h * 3 + l));
    return e;
  };
  EXPECT_TRUE(near(v2.forward(adj, {src, dst}, {}).value(),
                   attend(adj, 2, q, parameter("bias").value(), additive), 1e-12, 1e-14));

  TransformerConv dot(options, random, device(), DType::kF64);
  parameter = randomize(dot);
  const Dense query = affine(x_dst, "lin_query"), key = affine(x_src, "lin_key"),
              value = affine(x_src, "lin_value");
  const auto scaled = [&](std::int64_t i, std::int64_t j, std::int64_t h) {
    double e = 0;
    for (std::int64_t l = 0; l < 3; ++l) e += query.at(i, h * 3 + l) * key.at(j, h * 3 + l);
    return e / std::sqrt(3.0);
  };
  EXPECT_TRUE(near(dot.forward(adj, {src, dst}, {}).value(),
                   attend(adj, 2, value, Tensor::zeros({6}, DType::kF64, device()), scaled), 1e-12, 1e-14));
}

template <class Layer>
void check_attention_gradients(Device device) {
  const Adjacency adj = bipartite_graph(device);
  const AttentionConvOptions all[] = {
      {.in = 4, .out = 3, .heads = 2, .in_dst = 5},
      {.in = 4,
       .out = 3,
       .heads = 2,
       .merge = HeadMerge::kMean,
       .dropout = 0.4,
       .residual = true,
       .in_dst = 5},
      {.in = 4, .out = 3, .heads = 2, .bias = false, .residual = true, .in_dst = 6},
  };
  for (const AttentionConvOptions& options : all) {
    Random random(1);
    Layer layer(options, random, device, DType::kF64);
    randomize(layer);
    const Variable src = random_variable({kSrc, 4}, device, 7),
                   dst = random_variable({kDst, options.in_dst}, device, 8);
    std::vector<Variable> inputs = layer.parameters();
    inputs.push_back(src);
    inputs.push_back(dst);
    const auto forward = [&](const auto&) { return layer.forward(adj, {src, dst}, {5, 6}); };
    EXPECT_TRUE(gradients_ok(forward, inputs)) << options.in_dst;
  }
}

TEST_P(LayersBipartite, AttentionGradients) {
  check_attention_gradients<GatConv>(device());
  check_attention_gradients<Gatv2Conv>(device());
  check_attention_gradients<TransformerConv>(device());
}

// On a square graph with the same features on both sides, the layers are those of one kind of nodes.
TEST_P(LayersBipartite, EqualSidesGiveTheSquareLayer) {
  const Adjacency adj = graph_with_lengths({3, 0, 1, 9, 2, 5}, 6).to(device());
  const Variable x = random_variable({6, 4}, device(), 7);
  Random random(1);
  const SageConv sage({.in = 4, .out = 3}, random, device(), DType::kF64);
  EXPECT_TRUE(same_bits(sage.forward(adj, {x, x}).value(), sage.forward(adj, x).value()));
  const AttentionConvOptions options{.in = 4, .out = 3, .heads = 2, .residual = true};
  const GatConv gat(options, random, device(), DType::kF64);
  const Gatv2Conv v2(options, random, device(), DType::kF64);
  const TransformerConv dot(options, random, device(), DType::kF64);
  const auto same = [&](const auto& layer) {
    return near(layer.forward(adj, {x, x}, {}).value(), doubles(layer.forward(adj, x, {}).value()), 1e-12,
                1e-14);
  };
  EXPECT_TRUE(same(gat) && same(v2) && same(dot));
}

// A block of a mini-batch: the first sources are the destinations.
TEST_P(LayersBipartite, ABlockNeedsItsSourcesOnly) {
  const Adjacency adj = bipartite_graph(device());
  const Variable x = random_variable({kSrc, 4}, device(), 8);
  const EpilogueOptions relu{.activation = Activation::kRelu};
  for (const Reduce aggr : {Reduce::kMean, Reduce::kMax})
    for (const std::int64_t out : {3, 7})  // sums after and before the product
      for (const bool normalize : {false, true}) {
        Random random(2);
        const SageConv sage({.in = 4, .out = out, .aggr = aggr, .normalize = normalize}, random, device(),
                            DType::kF64);
        const Variable want = epilogue(sage.forward(adj, {x, rows(x, 0, kDst)}), {}, relu);
        EXPECT_TRUE(near(sage.forward(adj, x, {}, relu).value(), doubles(want.value()), 1e-12, 1e-14));
        EXPECT_TRUE(layer_gradients_ok(
            sage, [&](const Variable& v) { return sage.forward(adj, v, {}, relu); }, x));
      }
}

TEST_P(LayersBipartite, SparseSourcesAreTheDenseOnes) {
  const Adjacency adj = bipartite_graph(device());
  const Adjacency entries = graph_with_lengths({3, 0, 2, 5, 1, 4, 0, 2, 3}, 7).to(device());
  const Tensor values = random_tensor({20}, DType::kF64, device(), 8);
  const Features sparse = sparse_features(entries, values), dense(csr_to_dense(entries, values));
  const Variable dst = random_variable({kDst, 5}, device(), 8);
  Random random(1);
  const SageConv sage({.in = 7, .out = 9, .in_dst = 5}, random, device(), DType::kF64);
  const GatConv gat({.in = 7, .out = 3, .in_dst = 5}, random, device(), DType::kF64);
  EXPECT_TRUE(near(sage.forward(adj, {sparse, dst}).value(), doubles(sage.forward(adj, {dense, dst}).value()),
                   1e-12, 1e-14));
  EXPECT_TRUE(near(gat.forward(adj, {sparse, dst}, {}).value(),
                   doubles(gat.forward(adj, {dense, dst}, {}).value()), 1e-12, 1e-14));
}

TEST_P(LayersBipartite, Errors) {
  const Adjacency adj = bipartite_graph(device());
  const auto zeros = [](std::int64_t m, std::int64_t n) {
    return Variable(Tensor::zeros({m, n}, DType::kF32, device()));
  };
  Random random;
  const SageConv sage({.in = 4, .out = 2, .in_dst = 3}, random, device());
  const GatConv gat({.in = 4, .out = 2, .in_dst = 3}, random, device());
  EXPECT_ERROR(sage.forward(adj, {zeros(6, 4), zeros(6, 3)}),
               "[sage_conv] x_src must be [9, 4] on a graph of 6 x 9, got [6, 4]");
  EXPECT_ERROR(sage.forward(adj, {zeros(9, 4), zeros(6, 4)}),
               "[sage_conv] x_dst must be [6, 3] on a graph of 6 x 9, got [6, 4]");
  EXPECT_ERROR(sage.forward(adj, {zeros(9, 4), Features()}),
               "[sage_conv] x_dst must be [6, 3] on a graph of 6 x 9, got undefined features");
  EXPECT_ERROR(sage.forward(transpose_pattern(adj), zeros(9, 4)),
               "[sage_conv] the graph must be square, or a block with fewer rows than columns, got 9 x 6");
  EXPECT_ERROR(gat.forward(adj, {zeros(9, 3), zeros(6, 3)}, {}),
               "[gat_conv] x_src must be [9, 4] on a graph of 6 x 9, got [9, 3]");
  EXPECT_ERROR(gat.forward(Adjacency(), {zeros(9, 4), zeros(6, 3)}, {}), "[gat_conv] the graph is undefined");
  const Adjacency square = graph_with_lengths({1, 1}, 2).to(device());
  EXPECT_ERROR(gat.forward(square, zeros(2, 4), {}),
               "[gat_conv] the layer has in_dst 3: pass {x_src, x_dst}");
  EXPECT_ERROR(sage.forward(square, zeros(2, 4)),
               "[sage_conv] the layer has in 4 and in_dst 3: pass {x_src, x_dst}");
  EXPECT_ERROR(GatConv({.in = 4, .out = 2, .in_dst = -1}, random), "[gat_conv] in_dst must be >= 0, got -1");
}

}  // namespace
}  // namespace rodeo::test
