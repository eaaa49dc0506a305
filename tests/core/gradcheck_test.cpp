#include "core/gradcheck.h"

#include <cmath>
#include <sstream>

#include "layers/gradcheck_layer.h"
#include "layers/linear.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

using Inputs = std::vector<Variable>;

Variable leaf(std::vector<double> values) {
  return Variable(Tensor::from(values), true);
}

// y = x^2, whose recorded gradient is 2 x, times `factor` in element `at`.
Variable square(const Variable& x, double factor = 1, std::size_t at = 0) {
  const std::vector<double> in = x.value().to_vector<double>();
  std::vector<double> y = in;
  for (double& v : y) v *= v;
  return record("square", Tensor::from(y, x.shape()), {x}, [=](const Tensor& dy) {
    std::vector<double> dx = dy.to_vector<double>();
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= 2 * in[i] * (i == at ? factor : 1);
    return std::vector{Tensor::from(dx, dy.shape())};
  });
}

TEST(CoreGradcheck, ComplexGraphsOfManyInputsAndOutputs) {
  const Variable a = random_variable({3, 4}, kCpu, 1), b = random_variable({4, 2}, kCpu, 2),
                 c = random_variable({2}, kCpu, 3), unused = random_variable({2}, kCpu, 4);
  const Variable label(Tensor::from<std::int64_t>({0, 1, 1})), rows(Tensor::from<std::int64_t>({0, 2}));
  const auto f = [](const Inputs& in) {
    const Variable h = add_bias(matmul(in[0], in[1]), in[2]);  // used three times
    const Variable y = add(elu(h), matmul(in[0], in[1]));
    return std::vector{y, nll_loss(log_softmax(add(y, h)), in[3].value(), in[4].value()), h};
  };
  const GradcheckResult result =
      gradcheck(f, {a, b, c, label, rows, unused}, {.names = {"a", "b", "c", "label", "rows", "unused"}});
  EXPECT_TRUE(result) << result.message;
  ASSERT_EQ(result.inputs.size(), 6u);
  EXPECT_TRUE(result.inputs[3].constant);
  EXPECT_EQ(result.inputs[0].checked, 12);
  EXPECT_EQ(result.inputs[5].numeric, 0);
  std::ostringstream table;
  table << result;
  EXPECT_NE(table.str().find("label   [3]     constant"), std::string::npos) << table.str();
}

TEST(CoreGradcheck, NamesTheWorstElement) {
  const Variable x = leaf({1, 2, 3, 4, 5, 6});
  const auto f = [](const Inputs& in) { return square(in[0], 1.5, 4); };
  const GradcheckResult wrong = gradcheck(f, {x}, {.names = {"x"}});
  EXPECT_FALSE(wrong);
  EXPECT_EQ(wrong.message.find("x [4]: analytic "), 0u) << wrong.message;
  EXPECT_EQ(wrong.inputs[0].wrong, 1);
  EXPECT_NEAR(wrong.inputs[0].analytic / wrong.inputs[0].numeric, 1.5, 1e-6);
  EXPECT_NEAR(wrong.inputs[0].relative_error, 1. / 3, 1e-6);
  const Variable m(Tensor::from<double>({1, 2, 3, 4, 5, 6}, {2, 3}), true);
  EXPECT_EQ(gradcheck(f, {m}).message.find("input 0 [1, 1]: analytic "), 0u);
}

TEST(CoreGradcheck, SeesErrorsOfATenThousandth) {
  const auto f = [](const Inputs& in) { return square(in[0], 1.0001, 1); };
  EXPECT_FALSE(gradcheck(f, {leaf({1, 2, 3})}));
  EXPECT_TRUE(gradcheck(f, {leaf({1, 2, 3})}, {.rtol = 1e-3}));
}

TEST(CoreGradcheck, SaysWhereAFunctionHasAKink) {
  const auto f = [](const Inputs& in) { return relu(in[0]); };
  const GradcheckResult result = gradcheck(f, {leaf({1, 0, -1})});
  EXPECT_FALSE(result);
  EXPECT_NE(result.message.find("not differentiable there? Its slopes are"), std::string::npos)
      << result.message;
  EXPECT_EQ(result.message.find("input 0 [1]"), 0u) << result.message;
}

TEST(CoreGradcheck, ComparesOutputs) {
  const auto f = [](const Inputs& in) { return square(in[0]); };
  const Variable x = leaf({1, 2, 3});
  EXPECT_TRUE(gradcheck(f, {x}, {.expected = {Tensor::from<double>({1, 4, 9})}}));
  EXPECT_EQ(gradcheck(f, {x}, {.expected = {Tensor::from<double>({1, 5, 9})}}).message,
            "output 0 [1] is 4, expected 5");
  EXPECT_EQ(gradcheck(f, {leaf({1, INFINITY})}).message, "output 0 [1] is inf");
  EXPECT_ERROR(gradcheck(f, {x}, {.expected = {Tensor::zeros({3})}}),
               "[gradcheck] expected output 0 must be f64 [3]");
  EXPECT_ERROR(gradcheck(f, {x}, {.expected = {x.value(), x.value()}}),
               "[gradcheck] 2 expected outputs for 1");
}

TEST(CoreGradcheck, NoticesGradientsOfChance) {
  int calls = 0;
  const auto moody = [&](const Inputs& in) { return square(in[0], 1 + 1e-9 * calls++); };
  EXPECT_EQ(gradcheck(moody, {leaf({1})}, {.names = {"x"}}).message,
            "the gradient of x is not deterministic: two backward passes differ");
}

TEST(CoreGradcheck, NoticesAFunctionThatWritesItsInputs) {
  const auto writes = [](const Inputs& in) {
    const Variable y = square(in[0]);
    in[0].value().fill(7);
    return y;
  };
  const Variable x = leaf({1, 2});
  EXPECT_EQ(gradcheck(writes, {x}).message, "the function changed input 0");
  EXPECT_EQ(x.value().to_vector<double>(), (std::vector<double>{1, 2}));
}

TEST(CoreGradcheck, SamplesLargeInputs) {
  int evaluations = 0;
  const auto f = [&](const Inputs& in) {
    ++evaluations;
    return square(in[0]);
  };
  const Variable x = random_variable({100, 10}, kCpu);
  const GradcheckResult some = gradcheck(f, {x}, {.max_elements = 7});
  EXPECT_TRUE(some) << some.message;
  EXPECT_EQ(some.inputs[0].checked, 7);
  EXPECT_EQ(evaluations, 2 + 2 * 7);
  EXPECT_EQ(gradcheck(f, {x}, {.max_elements = 5000}).inputs[0].checked, 1000);
}

TEST(CoreGradcheck, RestoresInputsWhenTheFunctionThrows) {
  int calls = 0;
  const auto f = [&](const Inputs& in) {
    if (++calls == 3) fail("third call");
    return square(in[0]);
  };
  const Variable x = leaf({1, 2});
  EXPECT_ERROR(gradcheck(f, {x}), "third call");
  EXPECT_EQ(x.value().to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(CoreGradcheck, Errors) {
  const auto f = [](const Inputs& in) { return square(in[0]); };
  const Variable x = leaf({1, 2});
  EXPECT_ERROR(gradcheck(f, {square(x)}), "[gradcheck] input 0 must be a leaf, not the result of an op");
  EXPECT_ERROR(gradcheck(f, {x, x}),
               "[gradcheck] input 0 and input 1 share memory: a change of one changes the other");
  EXPECT_ERROR(gradcheck(f, {Variable()}), "[gradcheck] input 0 is undefined");
  EXPECT_ERROR(gradcheck(f, {x}, {.names = {"x", "y"}}), "[gradcheck] 2 names for 1 inputs");
  EXPECT_ERROR(gradcheck(f, {x}, {.step = 0}),
               "[gradcheck] step must be positive; rtol, atol and max_elements must not be negative");
  EXPECT_EQ(gradcheck(f, {Variable(Tensor::from<double>({1}))}).message,
            "the function recorded no gradient for any input");
}

TEST(LayersGradcheck, NamesParameters) {
  Random random(1);
  const Linear layer(5, 3, random, true, kCpu, DType::kF64);
  const Variable x = random_variable({4, 5}, kCpu);
  const GradcheckResult result = gradcheck_layer(layer, [&] { return layer.forward(x); }, {{"x", x}});
  EXPECT_TRUE(result) << result.message;
  ASSERT_EQ(result.inputs.size(), 3u);
  EXPECT_EQ(result.inputs[0].name, "x");
  EXPECT_EQ(result.inputs[1].name, "weight");
  EXPECT_EQ(result.inputs[2].checked, 3);
}

}  // namespace
}  // namespace rodeo::test
