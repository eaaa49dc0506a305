// Layers of f32 parameters that no command trains, on bf16 features, against themselves on f32.
#include <cmath>

#include "layers/graph_conv.h"
#include "layers/norm.h"
#include "layers/transformer_conv.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersMixed : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersMixed);

/// |a - b| is at most `bound` times |b|, in the Euclidean norm.
void expect_close(const Tensor& a, const Tensor& b, double bound) {
  const std::vector<double> got = doubles(a), want = doubles(b);
  ASSERT_EQ(got.size(), want.size());
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    error = std::hypot(error, got[i] - want[i]), size = std::hypot(size, want[i]);
  EXPECT_LE(error, bound * size);
}

/// forward(x) of bf16 and of f32 x: a handful of roundings, each by up to 2^-9.
template <class Forward>
void expect_near_f32(Module& layer, Forward forward, Device device) {
  const Tensor rounded = random_tensor({12, 9}, DType::kBF16, device, 3);
  const auto run = [&](const Tensor& x) {
    layer.zero_grad();
    const Variable y = forward(Variable(x));
    EXPECT_EQ(y.dtype(), x.dtype());
    y.backward(random_tensor(y.shape(), DType::kBF16, device, 4).to(x.dtype()));
    std::vector<Tensor> all = {y.value()};
    for (const Variable& p : layer.parameters()) {
      EXPECT_EQ(p.grad().dtype(), DType::kF32);
      all.push_back(p.grad());
    }
    return all;
  };
  const std::vector<Tensor> got = run(rounded), want = run(rounded.to(DType::kF32));
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i);
    expect_close(got[i], want[i], 0.03);
  }
}

TEST_P(LayersMixed, TakeBf16Features) {
  const Adjacency adj = small_gcn_graph(device()).adj;
  Random random(1);
  TransformerConv dot({.in = 9, .out = 4, .heads = 2, .bias = false}, random, device());
  expect_near_f32(
      dot, [&](const Variable& x) { return dot.forward(adj, x, RandomKey()); }, device());
  GraphConv graph({.in = 9, .out = 4}, random, device());
  const Tensor weight = random_tensor({adj.num_edges()}, DType::kBF16, device(), 5);
  expect_near_f32(
      graph, [&](const Variable& x) { return graph.forward(adj, Variable(weight.to(x.dtype())), x); },
      device());
  LayerNorm norm(9, 1e-5, true, device());
  expect_near_f32(
      norm, [&](const Variable& x) { return norm.forward(x); }, device());
}

}  // namespace
}  // namespace rodeo::test
