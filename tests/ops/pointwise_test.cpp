#include "ops/pointwise.h"

#include <cmath>

#include "core/storage.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsPointwise : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsPointwise);

// Empty, one element, just under, at and over a vector of 16 bytes, and many threads.
const std::vector<Shape> kShapes{{0}, {0, 3}, {1}, {7}, {8}, {9}, {37, 3}, {5, 4, 500}, {70001}};

struct Function {
  const char* name;
  Tensor (*compute)(const Tensor&);
  Variable (*record)(const Variable&);
  double (*want)(double);
  double (*slope)(double y);
};
const std::vector<Function> kFunctions{
    {"sigmoid", sigmoid, sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); },
     [](double y) { return y * (1 - y); }},
    {"tanh", tanh, tanh, [](double v) { return std::tanh(v); }, [](double y) { return 1 - y * y; }},
    {"exp", exp, exp, [](double v) { return std::exp(v); }, [](double y) { return y; }},
    {"deviation", deviation, deviation, [](double v) { return v <= 1e-5 ? 0 : std::sqrt(v); },
     [](double y) { return y == 0 ? 0 : 1 / (2 * y); }},
};

TEST_P(OpsPointwise, FunctionsAgainstFloat64) {
  const Poisoned poisoned;
  for (const Function& f : kFunctions)
    for (const DType dtype : kFloats)
      for (const Shape& shape : kShapes) {
        SCOPED_TRACE(str(f.name, " ", dtype, " ", shape));
        const Tensor x = random_tensor(shape, dtype, device());
        std::vector<double> want = doubles(x);
        for (double& v : want) v = f.want(v);
        EXPECT_TRUE(near(f.compute(x), want, 4 * epsilon(dtype)));
        // The gradient, from the rounded result.
        const Variable in(x, true);
        const Variable y = f.record(in);
        const Tensor dy = random_tensor(shape, dtype, device(), 2);
        y.backward(dy);
        std::vector<double> slope = doubles(y.value()), seed = doubles(dy);
        for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = f.slope(slope[i]) * seed[i];
        EXPECT_TRUE(near(in.grad(), slope, 4 * epsilon(dtype), 1e-7));
      }
}

TEST_P(OpsPointwise, LogAgainstFloat64) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const Tensor x = uniform({70001}, 0.01, 3, RandomKey{4, 0}, dtype, device());
    const Variable in(x, true);
    const Variable y = log(in);
    y.backward(Tensor::full({70001}, 1, dtype, device()));
    std::vector<double> want = doubles(x), slope = want;
    for (double& v : want) v = std::log(v);
    for (double& v : slope) v = 1 / v;
    EXPECT_TRUE(near(y.value(), want, 4 * epsilon(dtype), 1e-7));
    EXPECT_TRUE(near(in.grad(), slope, 16 * epsilon(dtype)));
  }
}

TEST_P(OpsPointwise, DeviationAtItsLeastVariance) {
  const Tensor x = Tensor::from(std::vector<double>{1e-5, 1.0001e-5, -1, 4}, device());
  const Variable in(x, true);
  const Variable y = deviation(in);
  y.backward(Tensor::full({4}, 1, DType::kF64, device()));
  EXPECT_TRUE(near(y.value(), {0, std::sqrt(1.0001e-5), 0, 2}, 1e-12));
  EXPECT_TRUE(near(in.grad(), {0, 0.5 / std::sqrt(1.0001e-5), 0, 0.25}, 1e-12));
}

TEST_P(OpsPointwise, FunctionsOfExtremeValues) {
  const Tensor x = Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 0, 1000, -1000}, device());
  const auto s = sigmoid(x).to_vector<float>(), t = tanh(x).to_vector<float>(), e = exp(x).to_vector<float>();
  for (const auto& y : {s, t, e}) EXPECT_TRUE(std::isnan(y[0]));
  const auto rest = [](const std::vector<float>& y) { return std::vector<float>(y.begin() + 1, y.end()); };
  EXPECT_EQ(rest(s), (std::vector<float>{1, 0, 0.5, 1, 0}));
  EXPECT_EQ(rest(t), (std::vector<float>{1, -1, 0, 1, -1}));
  EXPECT_EQ(rest(e), (std::vector<float>{INFINITY, 0, 1, INFINITY, 0}));
}

TEST_P(OpsPointwise, MulAgainstFloat64) {
  const Poisoned poisoned;
  for (const DType dtype : kFloats)
    for (const Shape& shape : kShapes) {
      const Tensor x = random_tensor(shape, dtype, device(), 1), y = random_tensor(shape, dtype, device(), 2);
      std::vector<double> want = doubles(x);
      const std::vector<double> other = doubles(y);
      for (std::size_t i = 0; i < want.size(); ++i) want[i] *= other[i];
      EXPECT_TRUE(near(mul(x, y), want, epsilon(dtype), 1e-7)) << dtype << " " << shape;
    }
}

TEST_P(OpsPointwise, SlicedOperandsAreNotAligned) {
  const Tensor a = random_tensor({1000}, DType::kF32, device(), 1).slice(1, 998),
               b = random_tensor({1000}, DType::kF32, device(), 2).slice(3, 1000);
  EXPECT_TRUE(same_bits(mul(a, b), mul(a.clone(), b.clone())));
  EXPECT_TRUE(same_bits(tanh(a), tanh(a.clone())));
}

TEST_P(OpsPointwise, MoreThan2To31Elements) {
  if (!device().is_cuda()) GTEST_SKIP() << "takes 9 GiB: a large GPU's case";
  constexpr std::int64_t kSize = (std::int64_t{1} << 31) + 13;
  const Tensor x = Tensor::full({kSize}, 0.5, DType::kBF16, device());
  x.slice(kSize - 21, kSize).fill(-2);
  const Poisoned poisoned;
  const Tensor y = mul(x, x);
  EXPECT_EQ(doubles(y.slice(kSize - 21, kSize)), std::vector<double>(21, 4));
  EXPECT_EQ(doubles(y.slice(kSize - 41, kSize - 21)), std::vector<double>(20, 0.25));
}

TEST_P(OpsPointwise, Gradients) {
  for (const Function& f : kFunctions)
    EXPECT_TRUE(
        gradients_ok([&](const auto& in) { return f.record(in[0]); }, {random_variable({3, 4, 5}, device())}))
        << f.name;
  EXPECT_TRUE(gradients_ok([](const auto& in) { return mul(in[0], in[1]); },
                           {random_variable({5, 3}, device(), 1), random_variable({5, 3}, device(), 2)}));
  EXPECT_TRUE(
      gradients_ok([](const auto& in) { return mul(in[0], in[0]); }, {random_variable({5, 3}, device())}));
  // One factor alone has a gradient.
  const Variable x = random_variable({4}, device(), 1),
                 constant(random_tensor({4}, DType::kF64, device(), 2));
  mul(constant, x).backward(Tensor::full({4}, 1, DType::kF64, device()));
  EXPECT_TRUE(same_bits(x.grad(), constant.value()));
  EXPECT_FALSE(constant.grad().defined());
}

TEST_P(OpsPointwise, Errors) {
  const Tensor x = Tensor::zeros({4}, DType::kF32, device());
  EXPECT_ERROR(mul(x, Tensor::zeros({1, 4}, DType::kF32, device())), "[mul] y must be [4], got [1, 4]");
  EXPECT_ERROR(mul(x, Tensor::zeros({4}, DType::kF64, device())),
               "[mul] y must have the dtype of x, f32, got f64");
  EXPECT_ERROR(mul(x, Tensor()), "[mul] y is undefined");
  EXPECT_ERROR(mul(Tensor::zeros({4}, DType::kI64, device()), x), "[mul] x must be floating point, got i64");
  EXPECT_ERROR(sigmoid(Tensor::zeros({4}, DType::kI32, device())),
               "[sigmoid] x must be floating point, got i32");
  EXPECT_ERROR(tanh(Tensor()), "[tanh] x is undefined");
  EXPECT_ERROR(exp(Tensor::zeros({4}, DType::kU8, device())), "[exp] x must be floating point, got u8");
}

}  // namespace
}  // namespace rodeo::test
