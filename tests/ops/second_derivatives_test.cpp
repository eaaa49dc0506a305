// Derivatives of gradients: of every operator that has both forms of its rule, and of layers made of them.
#include "layers/gcn_conv.h"
#include "layers/sage_conv.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_dropout.h"
#include "ops/edge_softmax.h"
#include "ops/edge_sum.h"
#include "ops/epilogue.h"
#include "ops/gather_rows.h"
#include "ops/gcn_norm.h"
#include "ops/gelu.h"
#include "ops/loss.h"
#include "ops/pointwise.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/segment_reduce.h"
#include "ops/spmm.h"
#include "ops/spmv.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsSecondDerivatives : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSecondDerivatives);

using Inputs = std::vector<Variable>;

struct DerivativeCase {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Variable(const Inputs&)> f;
};

constexpr std::int64_t kGraphRows = 5, kGraphCols = 4, kGraphEdges = 9;

Adjacency graph(Device device) {  // an empty row, parallel edges
  const Tensor row = Tensor::from<std::int64_t>({0, 0, 0, 1, 1, 3, 4, 4, 4}, device),
               col = Tensor::from<std::int64_t>({0, 1, 1, 2, 3, 0, 1, 2, 3}, device);
  return coo_to_csr(row, col, kGraphRows, kGraphCols).adj;
}

void check_cases(const std::vector<DerivativeCase>& cases, Device device) {
  for (const auto& [name, shapes, f] : cases) {
    SCOPED_TRACE(name);
    Inputs inputs;
    for (const Shape& shape : shapes) inputs.push_back(random_variable(shape, device, inputs.size() + 1));
    const GradcheckResult result = gradgradcheck(f, inputs, {.rtol = 1e-5});
    EXPECT_TRUE(result.ok) << result.message;
  }
}

TEST_P(OpsSecondDerivatives, OperatorsOfGraphs) {
  const Adjacency adj = graph(device());
  const Tensor index = Tensor::from<std::int64_t>({2, 0, 2, 4}, device()),
               offsets = Tensor::from<std::int64_t>({0, 2, 2, 5}, device());
  std::vector<DerivativeCase> cases{
      {"spmm", {{kGraphCols, 3}}, [&](const Inputs& in) { return mul(spmm(adj, in[0]), spmm(adj, in[0])); }},
      {"spmm weight",
       {{kGraphEdges}, {kGraphCols, 3}},
       [&](const Inputs& in) { return spmm(adj, in[0], in[1]); }},
      {"spmm heads",
       {{kGraphEdges, 2}, {kGraphCols, 2, 3}},
       [&](const Inputs& in) { return spmm(adj, in[0], in[1]); }},
      {"spmm mean",
       {{kGraphEdges}, {kGraphCols, 3}},
       [&](const Inputs& in) { return spmm(adj, in[0], in[1], {.reduce = Reduce::kMean}); }},
      {"spmv", {{kGraphEdges}, {kGraphCols}}, [&](const Inputs& in) { return spmv(adj, in[0], in[1]); }},
      {"edge_softmax", {{kGraphEdges}}, [&](const Inputs& in) { return edge_softmax(adj, in[0]); }},
      {"edge_softmax heads", {{kGraphEdges, 2}}, [&](const Inputs& in) { return edge_softmax(adj, in[0]); }},
      {"edge_sum", {{kGraphEdges, 2}}, [&](const Inputs& in) { return exp(edge_sum(adj, in[0])); }},
      {"edge_dropout",
       {{kGraphEdges, 2}},
       [&](const Inputs& in) { return exp(edge_dropout(adj, in[0], 0.4, {3})); }},
      {"gather_rows", {{kGraphRows, 3}}, [&](const Inputs& in) { return exp(gather_rows(in[0], index)); }},
      {"attention",  // of the sddmm, softmax and spmm of one graph
       {{kGraphRows, 3}, {kGraphCols, 3}},
       [&](const Inputs& in) { return spmm(adj, edge_softmax(adj, sddmm(adj, in[0], in[1])), in[1]); }},
  };
  for (const SddmmOp op : {SddmmOp::kDot, SddmmOp::kAdd, SddmmOp::kMul}) {
    cases.push_back({"sddmm", {{kGraphRows, 3}, {kGraphCols, 3}}, [&, op](const Inputs& in) {
                       return tanh(sddmm(adj, in[0], in[1], op));
                     }});
    cases.push_back({"sddmm weight",
                     {{kGraphRows, 3}, {kGraphCols, 3}, {kGraphEdges}},
                     [&, op](const Inputs& in) { return sddmm(adj, in[0], in[1], op, in[2]); }});
  }
  cases.push_back({"sddmm heads", {{kGraphRows, 2, 3}, {kGraphCols, 2, 3}}, [&](const Inputs& in) {
                     return sddmm(adj, in[0], in[1]);
                   }});
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean})
    cases.push_back({"segment_reduce", {{kGraphRows, 2}}, [&, reduce](const Inputs& in) {
                       return exp(segment_reduce(in[0], offsets, reduce));
                     }});
  check_cases(cases, device());
}

TEST_P(OpsSecondDerivatives, DenseOperators) {
  const Tensor scale = Tensor::from<double>({1, 2, -3}, device()),
               label = Tensor::from<std::int64_t>({1, 0, 1}, device()),
               index = Tensor::from<std::int64_t>({0, 2}, device());
  const auto of_one = [](Variable (*f)(const Variable&)) {
    return [f](const Inputs& in) { return f(in[0]); };
  };
  std::vector<DerivativeCase> cases{
      {"exp", {{3, 2}}, of_one(exp)},
      {"tanh", {{3, 2}}, of_one(tanh)},
      {"sigmoid", {{3, 2}}, of_one(sigmoid)},
      {"log_softmax", {{3, 2}}, of_one(log_softmax)},
      {"log", {{3, 2}}, [](const Inputs& in) { return log(add(exp(in[0]), exp(in[0]))); }},
      {"mul", {{3, 2}, {3, 2}}, [](const Inputs& in) { return mul(in[0], mul(in[1], in[0])); }},
      {"relu", {{3, 2}}, [](const Inputs& in) { return mul(relu(in[0]), leaky_relu(in[0], 0.2)); }},
      {"dropout", {{3, 2}}, [](const Inputs& in) { return exp(dropout(in[0], 0.4, {1})); }},
      {"scale_rows", {{3, 2}}, [&](const Inputs& in) { return exp(scale_rows(in[0], scale)); }},
      {"add_bias", {{3, 2}, {2}}, [](const Inputs& in) { return exp(add_bias(in[0], in[1])); }},
      {"sum_rows", {{3, 2}}, [](const Inputs& in) { return exp(sum_rows(in[0])); }},
      {"linear_combination",
       {{3, 2}, {3, 2}},
       [](const Inputs& in) { return exp(linear_combination(2, in[0], -3, in[1])); }},
      {"columns", {{3, 4}}, [](const Inputs& in) { return mul(columns(in[0], 0, 2), columns(in[0], 1, 3)); }},
      {"transpose_last",
       {{2, 3, 4}},
       [](const Inputs& in) { return exp(transpose_last(mul(in[0], in[0]))); }},
      {"concat_columns",
       {{3, 2}, {3, 1}},
       [](const Inputs& in) {
         return exp(concat_columns({in[0], in[1]}));
       }},
      {"matmul_padded", {{3, 2}, {2, 3}}, [](const Inputs& in) { return matmul_padded(in[0], in[1], 4); }},
      {"cast", {{3, 2}}, [](const Inputs& in) { return exp(cast(in[0], DType::kF64)); }},
      {"nll_loss", {{3, 2}}, [&](const Inputs& in) { return nll_loss(log_softmax(in[0]), label, index); }},
      {"epilogue", {{3, 2}, {2}}, [&](const Inputs& in) {
         const EpilogueOptions options{
             .pre_scale = scale, .activation = Activation::kRelu, .dropout = 0.4, .post_scale = scale};
         return exp(epilogue(in[0], in[1], options));
       }}};
  for (const Transpose ta : {Transpose::kNo, Transpose::kYes})
    for (const Transpose tb : {Transpose::kNo, Transpose::kYes})
      cases.push_back({"matmul",
                       {ta == Transpose::kNo ? Shape{3, 2} : Shape{2, 3},
                        tb == Transpose::kNo ? Shape{2, 4} : Shape{4, 2}},
                       [ta, tb](const Inputs& in) { return matmul(in[0], in[1], ta, tb); }});
  check_cases(cases, device());
}

TEST_P(OpsSecondDerivatives, PenaltiesOfLayers) {
  const Tensor row = Tensor::from<std::int64_t>({0, 1, 1, 2, 3}, device()),
               col = Tensor::from<std::int64_t>({1, 0, 2, 1, 3}, device());
  const Adjacency adj = coo_to_csr(row, col, 4, 4).adj;
  const GcnGraph normal = gcn_norm(adj, {}, DType::kF64);
  Random random(1);
  const GcnConv gcn(3, 2, random, true, device(), DType::kF64);
  const SageConv sage({.in = 3, .out = 2}, random, device(), DType::kF64);
  check_cases({{"GCN", {{4, 3}}, [&](const Inputs& in) { return exp(gcn.forward(normal, in[0])); }},
               {"SAGE", {{4, 3}}, [&](const Inputs& in) { return exp(sage.forward(adj, in[0])); }}},
              device());
}

TEST_P(OpsSecondDerivatives, ThirdDerivativesAndWhatGradientsLeaveAlone) {
  const Variable x = random_variable({3, 2}, device(), 1), unused = random_variable({2}, device(), 2);
  const Variable y = exp(x), one(Tensor::full({3, 2}, 1, DType::kF64, device()));
  Variable d = y;
  for (int order = 1; order <= 3; ++order) {
    d = gradients({d}, {x, unused}, {one})[0];
    EXPECT_TRUE(near(d.value(), y.value().to(kCpu).to_vector<double>(), 1e-12, 0));
  }
  EXPECT_FALSE(x.grad().defined());
  EXPECT_TRUE(near(gradients({y}, {unused}, {one})[0].value(), {0, 0}, 0, 0));
  // A penalty on the gradient of an intermediate result.
  const Variable h = tanh(x), z = mul(h, mul(h, h)), dh = gradients({z}, {h}, {one})[0];  // 3 h^2
  dh.backward(one.value());
  const std::vector<double> t = h.value().to_vector<double>();
  std::vector<double> want;
  for (const double v : t) want.push_back(6 * v * (1 - v * v));
  EXPECT_TRUE(near(x.grad(), want, 1e-12, 0));
}

TEST_P(OpsSecondDerivatives, OperatorsWithoutThemAreNamed) {
  const Variable x = random_variable({3, 2}, device()), one(Tensor::full({3, 2}, 1, DType::kF64, device()));
  EXPECT_ERROR(
      gradients({gelu(x)}, {x}, {one}),
      "[autograd] 'gelu' has no second derivative: its gradient rule takes Tensors only. backward() gives "
      "the first; docs/autograd.md lists the ops that have both");
  EXPECT_ERROR(gradients({deviation(x)}, {x}, {one}), "[autograd] deviation() has no second derivative");
  const char* text = "[autograd] epilogue() with elu or padding columns has no second derivative";
  EXPECT_ERROR(gradients({epilogue(x, {}, {.activation = Activation::kElu})}, {x}, {one}), text);
  EXPECT_ERROR(gradients({epilogue(x, {}, {.activation = Activation::kRelu}, 1)}, {x},
                         {Variable(Tensor::full({3, 1}, 1, DType::kF64, device()))}),
               text);
}

}  // namespace
}  // namespace rodeo::test
