// Gatv2Conv with edge features.
#include <cmath>

#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersGatv2Edge : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersGatv2Edge);

constexpr std::int64_t kIn = 4, kOut = 3, kHeads = 2, kEdge = 2, kWide = kOut * kHeads;

/// x W
std::vector<double> product(const std::vector<double>& x, const Variable& w) {
  const std::int64_t in = w.dim(0), out = w.dim(1), rows = static_cast<std::int64_t>(x.size()) / in;
  const std::vector<double> ws = doubles(w.value());
  std::vector<double> y(static_cast<std::size_t>(rows * out));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < in; ++k)
      for (std::int64_t j = 0; j < out; ++j) y[i * out + j] += x[i * in + k] * ws[k * out + j];
  return y;
}

TEST_P(LayersGatv2Edge, EqualsItsFormula) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random(1);
  const Gatv2Conv layer({.in = kIn, .out = kOut, .heads = kHeads, .bias = false, .edge_in = kEdge}, random,
                        device(), DType::kF64);
  const Variable x = random_variable({adj.rows(), kIn}, device()),
                 f = random_variable({adj.num_edges(), kEdge}, device(), 2);
  const std::vector<Variable> w = layer.parameters();  // lin_r.weight, lin_l.weight, att, lin_edge.weight
  ASSERT_EQ(w.size(), 4u);
  const std::vector<double> p = product(doubles(x.value()), w[0]), q = product(doubles(x.value()), w[1]),
                            a = doubles(w[2].value()), t = product(doubles(f.value()), w[3]);
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  std::vector<double> want(static_cast<std::size_t>(adj.rows() * kWide));
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (int h = 0; h < kHeads; ++h) {
      double sum = 0;
      std::vector<double> y(kOut);
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        double score = 0;
        for (int l = 0; l < kOut; ++l) {
          const std::int64_t at = h * kOut + l;
          const double v = p[i * kWide + at] + q[col[e] * kWide + at] + t[e * kWide + at];
          score += a[at] * (v > 0 ? v : 0.2 * v);
        }
        sum += std::exp(score);
        for (int l = 0; l < kOut; ++l) y[l] += std::exp(score) * q[col[e] * kWide + h * kOut + l];
      }
      for (int l = 0; l < kOut; ++l) want[i * kWide + h * kOut + l] = y[l] / sum;
    }
  EXPECT_TRUE(near(layer.forward(adj, x, f, RandomKey()).value(), want, 1e-11, 1e-13));
}

TEST_P(LayersGatv2Edge, Gradients) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random(2);
  const Gatv2Conv layer({.in = kIn, .out = kOut, .heads = kHeads, .residual = true, .edge_in = kEdge}, random,
                        device(), DType::kF64);
  std::vector<Variable> inputs = layer.parameters();
  const Variable x = random_variable({adj.rows(), kIn}, device()),
                 f = random_variable({adj.num_edges(), kEdge}, device(), 2);
  inputs.push_back(x);
  inputs.push_back(f);
  EXPECT_TRUE(gradients_ok([&](const auto&) { return layer.forward(adj, x, f, RandomKey()); }, inputs));
}

TEST_P(LayersGatv2Edge, Errors) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random;
  const Gatv2Conv layer({.in = kIn, .out = kOut, .edge_in = kEdge}, random, device(), DType::kF64);
  const Variable x = random_variable({adj.rows(), kIn}, device());
  EXPECT_ERROR(layer.forward(adj, x, random_variable({2, 2}, device()), RandomKey()),
               str("[gatv2_conv] f must be [", adj.num_edges(), ", 2], got [2, 2]"));
  EXPECT_ERROR(layer.forward(adj, x, RandomKey()),
               "[gatv2_conv] the layer reads edge features: call forward(adj, x, f, key)");
  EXPECT_ERROR(GatConv({.in = kIn, .out = kOut, .edge_in = kEdge}, random),
               "[gat_conv] reads no edge features: edge_in must be 0, got 2");
}

}  // namespace
}  // namespace rodeo::test
