#include "ops/epilogue.h"

#include "ops/dense.h"
#include "ops/gcn_norm.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsEpilogue : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsEpilogue);

/// Every combination of what can be asked for.
struct Parts {
  bool scale, bias, dropout, after;
  Activation activation;
  explicit Parts(int bits)
      : scale(bits & 1),
        bias(bits & 2),
        dropout(bits & 4),
        after(bits & 8 && bits < 32),
        activation(static_cast<Activation>(bits / 16)) {}
};

Variable composed(const Variable& x, const Variable& bias, const EpilogueOptions& o) {
  Variable h = o.pre_scale.defined() ? scale_rows(x, o.pre_scale) : x;
  if (bias.defined()) h = add_bias(h, bias);
  if (o.activation == Activation::kRelu) h = relu(h);
  if (o.activation == Activation::kElu) h = elu(h);
  if (o.dropout > 0) h = dropout(h, o.dropout, o.key);
  return o.post_scale.defined() ? scale_rows(h, o.post_scale) : h;
}

TEST_P(OpsEpilogue, IsTheComposedForm) {
  const Poisoned poisoned;
  for (int bits = 0; bits < 48; ++bits)
    for (const auto& [m, n] : {std::pair{1, 1}, {53, 7}, {2000, 16}, {300, 47}, {41, 128}}) {
      const Parts parts(bits);
      for (const DType dtype : {DType::kF32, DType::kF64}) {
        EpilogueOptions o{.activation = parts.activation, .dropout = parts.dropout ? 0.4 : 0, .key = {3, 9}};
        if (parts.scale) o.pre_scale = positive(m, dtype, device(), 1);
        if (parts.after) o.post_scale = positive(m, dtype, device(), 2);
        const Tensor values = random_tensor({m, n}, dtype, device(), 3),
                     b = random_tensor({n}, dtype, device(), 4),
                     dy = random_tensor({m, n}, dtype, device(), 5);
        const Variable x(values, true), x2(values, true);
        const Variable bias = parts.bias ? Variable(b, true) : Variable(),
                       bias2 = parts.bias ? Variable(b, true) : Variable();
        const Variable y = epilogue(x, bias, o), want = composed(x2, bias2, o);
        const double eps = 8 * epsilon(dtype);
        EXPECT_TRUE(near(y.value(), doubles(want.value()), eps, eps)) << bits << " " << m << " x " << n;
        y.backward(dy);
        want.backward(dy);
        EXPECT_TRUE(near(x.grad(), doubles(x2.grad()), eps, eps)) << bits << " " << m << " x " << n;
        if (!parts.bias) continue;
        EXPECT_TRUE(near(bias.grad(), doubles(bias2.grad()), m * eps, m * eps))
            << bits << " " << m << " x " << n;
      }
    }
}

// More rows than the threads of a GPU have under way.
TEST_P(OpsEpilogue, OfManyRowsIsTheComposedForm) {
  const Poisoned poisoned;
  for (const auto& [m, n] : {std::pair{36001, 64}, {48001, 47}, {400000, 3}}) {
    const EpilogueOptions o{.activation = Activation::kElu, .dropout = 0.4, .key = {3, 9}};
    const Tensor values = random_tensor({m, n}, DType::kF32, device(), 3),
                 b = random_tensor({n}, DType::kF32, device(), 4),
                 dy = random_tensor({m, n}, DType::kF32, device(), 5);
    const Variable x(values, true), x2(values, true), bias(b, true), bias2(b.to(DType::kF64), true),
        again(b, true);
    const Variable y = epilogue(x, bias, o), want = composed(x2, Variable(b), o);
    EXPECT_TRUE(near(y.value(), doubles(want.value()), 1e-6, 1e-6)) << m << " x " << n;
    y.backward(dy);
    want.backward(dy);
    EXPECT_TRUE(near(x.grad(), doubles(x2.grad()), 1e-6, 1e-6)) << m << " x " << n;
    composed(Variable(values.to(DType::kF64)), bias2, o).backward(dy.to(DType::kF64));
    EXPECT_TRUE(near(bias.grad(), doubles(bias2.grad()), 1e-5, 0.02)) << m << " x " << n;
    epilogue(Variable(values), again, o).backward(dy);
    EXPECT_TRUE(same_bits(bias.grad(), again.grad())) << m << " x " << n;
  }
}

TEST_P(OpsEpilogue, SixteenBitTypesAreRoundedOnce) {
  const Poisoned poisoned;
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const EpilogueOptions o{.pre_scale = positive(64, dtype, device(), 1),
                            .activation = Activation::kRelu,
                            .dropout = 0.5,
                            .key = {1, 2}};
    const Tensor x = random_tensor({64, 33}, dtype, device(), 3), b = random_tensor({33}, dtype, device(), 4);
    EpilogueOptions wide = o;
    wide.pre_scale = o.pre_scale.to(DType::kF64);
    EXPECT_TRUE(near(epilogue(x, b, o), doubles(epilogue(x.to(DType::kF64), b.to(DType::kF64), wide)),
                     epsilon(dtype), 1e-7));
  }
}

TEST_P(OpsEpilogue, PaddingIsNotReadAndHasNoGradient) {
  const Tensor part = random_tensor({20, 5}, DType::kF64, device()),
               dy = random_tensor({20, 5}, DType::kF64, device(), 6);
  const EpilogueOptions o{.activation = Activation::kRelu};
  for (const std::int64_t pitch : {5, 6, 8}) {
    const Poisoned poisoned;
    const Tensor x = Tensor::empty({20, pitch}, DType::kF64, device());  // NaN
    for (std::int64_t i = 0; i < 20; ++i)
      x.slice(i, i + 1).reshape({pitch}).slice(0, 5).copy_from(part.slice(i, i + 1).reshape({5}));
    const Variable padded(x, true), whole(part, true);
    const Variable bias(random_tensor({5}, DType::kF64, device(), 2), true);
    EXPECT_TRUE(same_bits(epilogue(padded, bias, o).value(), epilogue(whole, bias, o).value()));
    EXPECT_TRUE(same_bits(epilogue(padded, {}, o, 5).value(), epilogue(whole, {}, o).value()));
    epilogue(padded, bias, o).backward(dy);
    epilogue(whole, bias, o).backward(dy);
    const std::vector<double> got = doubles(padded.grad()), want = doubles(whole.grad());
    const auto n = static_cast<std::size_t>(pitch);
    for (std::size_t i = 0; i < 20; ++i)
      for (std::size_t j = 0; j < n; ++j) EXPECT_EQ(got[i * n + j], j < 5 ? want[i * 5 + j] : 0) << pitch;
  }
}

TEST_P(OpsEpilogue, Gradients) {
  const Tensor scale = positive(6, DType::kF64, device(), 1), after = positive(6, DType::kF64, device(), 2);
  const auto f = [&](const EpilogueOptions& o) {
    return gradients_ok([&](const auto& in) { return epilogue(in[0], in[1], o); },
                        {random_variable({6, 5}, device(), 3), random_variable({5}, device(), 4)});
  };
  EXPECT_TRUE(f({.pre_scale = scale,
                 .activation = Activation::kRelu,
                 .dropout = 0.3,
                 .key = {5, 1},
                 .post_scale = after}));
  EXPECT_TRUE(f({.dropout = 0.3, .key = {5, 1}}));
  EXPECT_TRUE(f({.pre_scale = scale, .activation = Activation::kElu, .dropout = 0.3, .key = {5, 1}}));
}

TEST_P(OpsEpilogue, RecomputesTheSameBits) {
  const Poisoned poisoned;
  constexpr std::int64_t m = 4096, n = 64;
  const Tensor values = random_tensor({m, n}, DType::kF32, device(), 1),
               b = random_tensor({n}, DType::kF32, device(), 2),
               weight = random_tensor({n, 5}, DType::kF32, device(), 3),
               dy = random_tensor({m, 5}, DType::kF32, device(), 4);
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kElu}) {
    std::vector<Tensor> gradients[2];
    std::int64_t held[2];
    for (const bool recompute : {false, true}) {
      const Variable x(values, true), bias(b, true), w(weight, true);
      const std::int64_t before = memory_stats(device()).current;
      const EpilogueOptions o{
          .activation = activation, .dropout = 0.4, .key = {3, 9}, .recompute = recompute};
      const Variable y = matmul(epilogue(x, bias, o), w);
      held[recompute] = memory_stats(device()).current - before;
      y.backward(dy);
      gradients[recompute] = {x.grad(), bias.grad(), w.grad()};
    }
    const std::int64_t signs = activation == Activation::kRelu ? m * n / 4 : 0;
    EXPECT_EQ(held[0] - held[1], m * n * 4 + signs) << static_cast<int>(activation);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(same_bits(gradients[0][i], gradients[1][i])) << static_cast<int>(activation) << " " << i;
  }
}

// ReLU's gradient needs the signs of y: y is freed where nothing else keeps it.
TEST_P(OpsEpilogue, ReluKeepsSignsOnly) {
  constexpr std::int64_t m = 4096, n = 64;
  const Variable x(random_tensor({m, n}, DType::kBF16, device(), 1), true);
  const Variable other(random_tensor({m, n}, DType::kBF16, device(), 2));
  const std::int64_t before = memory_stats(device()).current;
  const Variable sum = add(epilogue(x, {}, {.activation = Activation::kRelu}), other);
  EXPECT_EQ(memory_stats(device()).current - before, m * n * 2 + m * n / 4);
}

// By rows, flat and padded kernels; a consumed x gives the same bits, and its memory to y.
TEST_P(OpsEpilogue, TakesTheMemoryOfWhatItConsumes) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64})
    for (const std::int64_t n : {1, 5, 8, 36})
      for (int activation = 0; activation < 3; ++activation) {
        SCOPED_TRACE(str(dtype, " ", n, " columns, activation ", activation));
        constexpr std::int64_t m = 301;
        const Tensor values = random_tensor({m, n}, dtype, device(), 1),
                     dy = random_tensor({m, n}, dtype, device(), 2);
        const Variable bias(random_tensor({n}, dtype, device(), 3), true);
        const EpilogueOptions o{
            .pre_scale = positive(m, dtype == DType::kF64 ? dtype : DType::kF32, device(), 4),
            .activation = static_cast<Activation>(activation),
            .dropout = 0.3,
            .key = {5, 1}};
        Tensor y[3], dx[3];
        for (const int how : {0, 1, 2}) {  // kept, consumed, consumed but held by another
          const Variable x(values, true);
          Variable twice = add(x, x);
          const void* memory = twice.value().raw();
          const Variable held = how == 2 ? twice : Variable();
          const Variable out = how == 0 ? epilogue(twice, bias, o) : epilogue(std::move(twice), bias, o);
          EXPECT_EQ(out.value().raw() == memory, how == 1) << how;
          y[how] = out.value();
          out.backward(dy);
          dx[how] = x.grad();
          EXPECT_TRUE(same_bits(y[how], y[0]) && same_bits(dx[how], dx[0])) << how;
        }
      }
}

TEST_P(OpsEpilogue, OfABiasAloneHandsTheGradientOn) {
  const Tensor dy = random_tensor({100, 7}, DType::kF32, device(), 1);
  const Variable x(random_tensor({100, 7}, DType::kF32, device(), 2), true),
      bias(random_tensor({7}, DType::kF32, device(), 3), true);
  epilogue(x, bias, {}).backward(dy);
  EXPECT_EQ(x.grad().raw(), dy.raw());
  EXPECT_TRUE(near(bias.grad(), doubles(sum_rows(dy)), 1e-5, 1e-5));
}

TEST_P(OpsEpilogue, EmptyAndErrors) {
  const auto zeros = [](const Shape& shape) { return Tensor::zeros(shape, DType::kF32, device()); };
  EXPECT_EQ(epilogue(zeros({0, 3}), {}, {}).shape(), (Shape{0, 3}));
  EXPECT_ERROR(epilogue(zeros({4, 3}), {}, {.activation = Activation::kElu, .post_scale = zeros({4})}),
               "[epilogue] elu does not support post_scale");
  const Variable bias(zeros({3}), true);
  epilogue(Variable(zeros({0, 3})), bias, {}).backward(zeros({0, 3}));
  EXPECT_EQ(doubles(bias.grad()), (std::vector<double>{0, 0, 0}));
  EXPECT_ERROR(epilogue(zeros({4, 3}), zeros({4}), {}),
               "[epilogue] the result has 4 columns, and x must have as many, got [4, 3]");
  EXPECT_ERROR(epilogue(zeros({4, 3}), {}, {.pre_scale = zeros({3})}),
               "[epilogue] pre_scale must be [4], got [3]");
  EXPECT_ERROR(epilogue(zeros({4, 3}), {}, {.dropout = 1}), "[epilogue] dropout must be in [0, 1), got 1");
}

TEST_P(OpsEpilogue, PaddedMatmul) {
  const Poisoned poisoned;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
    for (const auto& [n, columns] : {std::pair{7, 8}, {5, 5}, {41, 48}}) {
      const Tensor a = random_tensor({30, 19}, dtype, device(), 1),
                   b = random_tensor({19, n}, dtype, device(), 2);
      const Variable a1(a, true), b1(b, true), a2(a, true), b2(b, true);
      const Variable c = epilogue(matmul_padded(a1, b1, columns), {}, {}, n), want = matmul(a2, b2);
      const double eps = 32 * epsilon(dtype);
      EXPECT_EQ(c.shape(), want.shape());
      EXPECT_TRUE(near(c.value(), doubles(want.value()), eps, eps)) << dtype << " " << n;
      const Tensor dc = random_tensor({30, n}, dtype, device(), 3);
      c.backward(dc);
      want.backward(dc);
      EXPECT_TRUE(near(a1.grad(), doubles(a2.grad()), eps, eps)) << dtype << " " << n;
      EXPECT_TRUE(near(b1.grad(), doubles(b2.grad()), eps, eps)) << dtype << " " << n;
    }
  EXPECT_ERROR(matmul_padded(Tensor::zeros({2, 2}), Tensor::zeros({2, 3}), 2),
               "[matmul_padded] columns must be at least 3, got 2");
  EXPECT_EQ(padded_columns(7, DType::kF32, kCpu), 7);
}

// A gradient that nobody else reads is overwritten by that of the input, one that is held is not.
TEST_P(OpsEpilogue, GradientsInPlaceHaveTheSameBits) {
  const Poisoned poisoned;
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const auto& [m, n] : {std::pair{53, 7}, {2000, 16}, {300, 128}}) {
      const EpilogueOptions o{.activation = Activation::kRelu, .dropout = 0.4, .key = {3, 9}};
      const Tensor values = random_tensor({m, n}, dtype, device(), 3),
                   dy = random_tensor({m, n}, dtype, device(), 5),
                   ones = Tensor::full({m}, 1, dtype, device());
      const Variable x(values, true), x2(values, true), bias(Tensor::zeros({n}, dtype, device()), true);
      const Tensor before = dy.clone();
      epilogue(x, bias, o).backward(dy);
      EXPECT_TRUE(same_bits(dy, before)) << "the seed is the caller's";
      scale_rows(epilogue(x2, bias, o), ones).backward(dy);
      EXPECT_TRUE(same_bits(x2.grad(), x.grad())) << dtype << " " << m << " x " << n;
    }
}

}  // namespace
}  // namespace rodeo::test
