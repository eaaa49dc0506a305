#include "layers/gine_conv.h"

#include <algorithm>

#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersGineConv : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersGineConv);

std::unique_ptr<Sequential> linear_nn(std::int64_t in, std::int64_t out, Random& random, Device device) {
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(in, out, random, true, device, DType::kF64));
  return nn;
}

TEST_P(LayersGineConv, EqualsItsFormula) {
  constexpr std::int64_t kIn = 3, kEdge = 2, kOut = 4;
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random(1);
  const GineConv conv(linear_nn(kIn, kOut, random, device()), kIn, kEdge, random, {.eps = 0.25}, device(),
                      DType::kF64);
  const Variable x = random_variable({adj.rows(), kIn}, device()),
                 f = random_variable({adj.num_edges(), kEdge}, device(), 2);
  std::vector<std::vector<double>> p;  // nn.0.weight, nn.0.bias, lin.weight, lin.bias
  for (const char* wanted : {"nn.0.weight", "nn.0.bias", "lin.weight", "lin.bias"})
    for (const auto& [name, value] : conv.named_parameters())
      if (name == wanted) p.push_back(doubles(value.value()));
  ASSERT_EQ(p.size(), 4u);
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::vector<double> xs = doubles(x.value()), fs = doubles(f.value());
  std::vector<double> want;
  for (std::int64_t i = 0; i < adj.rows(); ++i) {
    std::vector<double> h(kIn);
    for (int j = 0; j < kIn; ++j) {
      h[j] = 1.25 * xs[i * kIn + j];
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        double m = xs[col[e] * kIn + j] + p[3][j];
        for (int k = 0; k < kEdge; ++k) m += fs[e * kEdge + k] * p[2][k * kIn + j];
        h[j] += std::max(m, 0.0);
      }
    }
    for (int o = 0; o < kOut; ++o) {
      double y = p[1][o];
      for (int j = 0; j < kIn; ++j) y += h[j] * p[0][j * kOut + o];
      want.push_back(y);
    }
  }
  EXPECT_TRUE(near(conv.forward(adj, x, f).value(), want, 1e-11, 1e-13));
}

TEST_P(LayersGineConv, Gradients) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random(2);
  const GineConv conv(linear_nn(3, 2, random, device()), 3, 2, random, {.eps = 0.1, .train_eps = true},
                      device(), DType::kF64);
  std::vector<Variable> inputs = conv.parameters();
  const Variable x = random_variable({adj.rows(), 3}, device()),
                 f = random_variable({adj.num_edges(), 2}, device(), 2);
  inputs.push_back(x);
  inputs.push_back(f);
  EXPECT_TRUE(gradients_ok([&](const auto&) { return conv.forward(adj, x, f); }, inputs));
}

TEST_P(LayersGineConv, Errors) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random;
  const GineConv conv(linear_nn(3, 2, random, device()), 3, 2, random, {}, device(), DType::kF64);
  const Variable x = random_variable({adj.rows(), 3}, device());
  EXPECT_ERROR(conv.forward(adj, x, random_variable({3, 2}, device())),
               str("[gine_conv] f must be [", adj.num_edges(), ", 2], got [3, 2]"));
  EXPECT_ERROR(GineConv(nullptr, 3, 2, random), "[gine_conv] nn must not be null");
}

}  // namespace
}  // namespace rodeo::test
