// Layers that project x several times in one product (linear_many): as with a product for each.
#include <algorithm>
#include <cmath>
#include <map>

#include "layers/gatv2_conv.h"
#include "layers/transformer_conv.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/dot_attention.h"
#include "ops/gatv2_attention.h"
#include "ops/heads.h"
#include "ops/linear.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class LayersProjections : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersProjections);

constexpr std::int64_t kNodes = 1100, kIn = 40;  // enough rows for the kernels of a GPU

Adjacency graph(std::int64_t cols, Device device) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t e = 0; e < 6 * kNodes; ++e) row.push_back(e * 7919 % kNodes), col.push_back(e * e % cols);
  return coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), kNodes, cols).adj;
}

using Named = std::map<std::string, Variable>;

Named named(const Module& layer) {
  Named out;
  for (const auto& [name, parameter] : layer.named_parameters()) out[name] = parameter;
  return out;
}

Variable heads_of(const Variable& x, const AttentionConvOptions& o) {
  return reshape(x, {x.dim(0), o.heads, o.out});
}

Variable project(const Features& x, Named& p, const std::string& name) {
  return linear(x, p.at(name + ".weight"), p[name + ".bias"]);
}

/// TransformerConv by four products.
Variable four_products(const Adjacency& adj, const BipartiteFeatures& x, Named p,
                       const AttentionConvOptions& o) {
  const auto of = [&](const Features& side, const char* name) { return heads_of(project(side, p, name), o); };
  const Variable y = dot_attention(adj, of(x.dst, "lin_query"), of(x.src, "lin_key"), of(x.src, "lin_value"));
  const Variable merged =
      o.merge == HeadMerge::kConcat ? reshape(y, {y.dim(0), o.heads * o.out}) : head_mean(y);
  return o.residual ? add(merged, project(x.dst, p, "lin_skip")) : merged;
}

double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::isnan(v) ? INFINITY : std::abs(v));
  return most;
}
double largest_difference(const Tensor& got, const Tensor& want) {
  std::vector<double> a = doubles(got), b = doubles(want);
  for (std::size_t i = 0; i < b.size(); ++i) a[i] -= b[i];
  return largest(a);
}

/// f() and g(), and their gradients in the parameters of the layer and in `inputs`.
template <class Layer, class F, class G>
void compare(Layer& layer, const std::vector<Variable>& inputs, F&& f, G&& g) {
  const bool wide = inputs[0].dtype() == DType::kF64;
  const auto gradients_of = [&](const Variable& y) {
    std::vector<Variable> all = layer.parameters();
    all.insert(all.end(), inputs.begin(), inputs.end());
    for (Variable& x : all) x.zero_grad();
    y.backward(random_tensor(y.shape(), y.dtype(), y.device(), 9));
    std::vector<Tensor> out;
    for (const Variable& x : all) out.push_back(x.grad());
    return out;
  };
  const Variable got = f();
  const std::vector<Tensor> of_got = gradients_of(got);
  const Variable want = g();
  const std::vector<Tensor> of_want = gradients_of(want);
  const double of_output = wide ? 1e-12 : 2e-6, of_gradients = wide ? 1e-12 : 2e-5;
  EXPECT_LE(largest_difference(got.value(), want.value()), of_output * largest(doubles(want.value())));
  double scale =
      0;  // of all gradients: that of the keys' bias is rounding alone, as scores of a row may shift
  for (const Tensor& gradient : of_want) scale = std::max(scale, largest(doubles(gradient)));
  for (std::size_t i = 0; i < of_want.size(); ++i)
    EXPECT_LE(largest_difference(of_got[i], of_want[i]), of_gradients * scale) << "gradient " << i;
}

TEST_P(LayersProjections, TransformerConvIsFourProducts) {
  const Adjacency adj = graph(kNodes, device()), bipartite = graph(1200, device());
  for (const DType dtype : {DType::kF64, DType::kF32})
    for (const bool residual : {true, false})
      for (const bool bias : {true, false})
        for (const HeadMerge merge : {HeadMerge::kConcat, HeadMerge::kMean}) {
          SCOPED_TRACE(str(dtype, residual ? " residual" : "", bias ? " bias" : "",
                           merge == HeadMerge::kMean ? " mean" : ""));
          const AttentionConvOptions options{
              .in = kIn, .out = 16, .heads = 4, .merge = merge, .bias = bias, .residual = residual};
          Random random(1);
          TransformerConv layer(options, random, device(), dtype);
          const Variable x(random_tensor({kNodes, kIn}, dtype, device(), 2), true),
              src(random_tensor({1200, kIn}, dtype, device(), 3), true);
          compare(
              layer, {x}, [&] { return layer.forward(adj, x, {}); },
              [&] {
                return four_products(adj, {x, x}, named(layer), options);
              });
          AttentionConvOptions of_sides = options;
          of_sides.in_dst = kIn;
          TransformerConv sides(of_sides, random, device(), dtype);
          compare(
              sides, {x, src},
              [&] {
                return sides.forward(bipartite, BipartiteFeatures{src, x}, {});
              },
              [&] {
                return four_products(bipartite, {src, x}, named(sides), of_sides);
              });
        }
}

TEST_P(LayersProjections, Gatv2ConvIsTwoProducts) {
  const Adjacency adj = graph(kNodes, device());
  for (const DType dtype : {DType::kF64, DType::kF32})
    for (const bool bias : {true, false}) {
      const AttentionConvOptions options{.in = kIn, .out = 16, .heads = 4, .bias = bias};
      Random random(1);
      Gatv2Conv layer(options, random, device(), dtype);
      const Variable x(random_tensor({kNodes, kIn}, dtype, device(), 2), true);
      compare(
          layer, {x}, [&] { return layer.forward(adj, x, {}); },
          [&] {
            Named p = named(layer);
            const Variable y = gatv2_attention(adj, heads_of(project(x, p, "lin_r"), options),
                                               heads_of(project(x, p, "lin_l"), options), p.at("att"));
            const Variable merged = reshape(y, {kNodes, 64});
            return bias ? add_bias(merged, p.at("bias")) : merged;
          });
    }
}

// PyG's names and shapes, and the weights that four matrices were given.
TEST_P(LayersProjections, ParametersStayApart) {
  Random random(1), again(1);
  const TransformerConv layer({.in = 4, .out = 3, .heads = 2, .residual = true}, random, device());
  const std::vector<std::pair<std::string, Shape>> want{{"lin_key.weight", {4, 6}},   {"lin_key.bias", {6}},
                                                        {"lin_query.weight", {4, 6}}, {"lin_query.bias", {6}},
                                                        {"lin_value.weight", {4, 6}}, {"lin_value.bias", {6}},
                                                        {"lin_skip.weight", {4, 6}},  {"lin_skip.bias", {6}}};
  const auto parameters = layer.named_parameters();
  ASSERT_EQ(parameters.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(parameters[i].first, want[i].first);
    EXPECT_EQ(parameters[i].second.shape(), want[i].second);
    const Tensor first = uniform(want[i].second, -0.5, 0.5, again.next(), DType::kF32, device());
    EXPECT_TRUE(same_bits(parameters[i].second.value(), first)) << want[i].first;
  }
}

}  // namespace
}  // namespace rodeo::test
