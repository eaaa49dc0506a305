#include "core/variable.h"

#include "core/allocation_info.h"
#include "core/category_timer.h"
#include "core/gradcheck.h"
#include "core/memory_stats.h"
#include "core/random.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

Variable leaf(std::vector<double> values) {
  return Variable(Tensor::from(values), true);
}

// y = factor x, with a gradient that may be wrong on purpose.
Variable scaled(const Variable& x, double factor, double gradient_factor) {
  const auto times = [](const Tensor& t, double f) {
    std::vector<double> values = t.to_vector<double>();
    for (double& v : values) v *= f;
    return Tensor::from(values, t.shape());
  };
  return record("scaled", times(x.value(), factor), {x},
                [=](const Tensor& dy) { return std::vector{times(dy, gradient_factor)}; });
}

TEST(CoreVariable, SumsOverAllPaths) {
  const Variable x = leaf({1, 2});
  const Variable a = scaled(x, 3, 3), b = add(a, x);   // 4x
  const Variable c = add(add(a, b), scaled(b, 2, 2));  // 3x + 4x + 8x
  c.backward(Tensor::full({2}, 1, DType::kF64));
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{15, 15}));
}

TEST(CoreVariable, AccumulatesUntilZeroed) {
  Variable x = leaf({1});
  scaled(x, 2, 2).backward();
  scaled(x, 2, 2).backward();
  EXPECT_EQ(x.grad().item(), 4);
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

// Sums of gradients take the memory of the first term only where nobody else reads it.
TEST(CoreVariable, SumsInPlaceOnlyWhatNobodyElseReads) {
  constexpr std::int64_t kSize = 1 << 16;
  const auto with_gradient = [](const Variable& x, const std::function<Tensor()>& gradient) {
    return record("made", x.value(), {x}, [gradient](const Tensor&) { return std::vector{gradient()}; });
  };
  const Variable x(Tensor::zeros({kSize}), true);
  const Tensor held = Tensor::full({kSize}, 1);
  const auto fresh = [] { return Tensor::full({kSize}, 2); };
  Variable sum = with_gradient(x, [&] { return held; });
  for (int i = 0; i < 3; ++i) sum = add(with_gradient(x, fresh), sum);
  sum.backward(Tensor::full({kSize}, 1));
  EXPECT_EQ(x.grad().to_vector<float>().back(), 7);
  EXPECT_EQ(held.to_vector<float>().back(), 1);

  const Variable y(Tensor::zeros({kSize}), true);
  Variable terms = with_gradient(y, fresh);
  for (int i = 0; i < 3; ++i) terms = add(terms, with_gradient(y, fresh));
  const Tensor start = Tensor::full({kSize}, 1);
  const MemoryGauge gauge(kCpu);
  terms.backward(start);
  EXPECT_EQ(y.grad().to_vector<float>().back(), 8);
  EXPECT_LE(gauge.bytes(), 2 * kSize * 4);  // the sum and one term
}

TEST(CoreVariable, LongChainsNeedNoStack) {
  const Variable x = leaf({1});
  {
    Variable y = x;
    for (int i = 0; i < 200000; ++i) y = scaled(y, 1, 1);
    y.backward();
    EXPECT_EQ(x.grad().item(), 1);
  }
  Variable dropped = x;  // never differentiated
  for (int i = 0; i < 200000; ++i) dropped = scaled(dropped, 1, 1);
}

TEST(CoreVariable, RecordsOnlyWhereNeeded) {
  const Variable constant(Tensor::zeros({2}, DType::kF64));
  EXPECT_FALSE(add(constant, constant).requires_grad());
  const NoGrad no_grad;
  EXPECT_FALSE(add(leaf({1, 2}), constant).requires_grad());
}

TEST(CoreVariable, AnInnerNoGradLeavesTheOuterOne) {
  {
    const NoGrad outer;
    { const NoGrad inner; }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
}

TEST(CoreVariable, KeepsOnlyWhatRulesKeep) {
  const Variable x(Tensor::zeros({1000}, DType::kF64), true);
  const std::int64_t before = memory_stats(kCpu).current;
  Variable y = scaled(x, 2, 2);
  for (int i = 0; i < 3; ++i) y = scaled(y, 2, 2);  // none keeps its input
  EXPECT_LT(memory_stats(kCpu).current - before, 2 * 8000);
  y.backward(Tensor::full({1000}, 1, DType::kF64));
  EXPECT_EQ(x.grad().to_vector<double>()[999], 16);
}

// In the message of a run that is out of memory.
TEST(CoreVariable, ResultsAndGradientsHaveTheNameOfTheirOp) {
  const Variable x(Tensor::zeros({4567}, DType::kF64), true);
  const Variable y = scaled(x, 2, 2);
  y.backward(Tensor::full({4567}, 1, DType::kF64));
  const std::string text = describe_largest_allocations(kCpu, 1 << 20);
  EXPECT_NE(text.find("f64 [4567] (scaled) 35.68 KiB"), std::string::npos) << text;
  EXPECT_NE(text.find("f64 [4567] (gradient of scaled) 35.68 KiB"), std::string::npos) << text;
}

TEST(CoreVariable, ComputesWhatWasSavedOnce) {
  int calls = 0;
  const SavedTensor saved([&] { return ++calls, Tensor::full({2}, 3, DType::kF64); });
  const SavedTensor copy = saved;
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(copy.get().raw(), saved.get().raw());
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(SavedTensor().get().defined());
  const Variable y = record("again", Tensor::zeros({2}, DType::kF64), {leaf({1, 2})}, {}, saved);
  EXPECT_EQ(y.saved().get().raw(), saved.get().raw());
  EXPECT_EQ(leaf({4}).saved().get().item(), 4);
}

TEST(CoreVariable, ChecksWhatARuleReturns) {
  const Variable x = leaf({1, 2});
  const auto with = [&](GradientRule rule) {
    return record("mine", Tensor::zeros({2}, DType::kF64), {x, x}, std::move(rule));
  };
  const Tensor seed = Tensor::zeros({2}, DType::kF64);
  EXPECT_ERROR(with([](const Tensor& dy) { return std::vector{dy}; }).backward(seed),
               "[autograd] the rule of 'mine' returned 1 gradients for 2 inputs");
  EXPECT_ERROR(with([](const Tensor& dy) {
                 return std::vector{dy, Tensor()};
               }).backward(seed),
               "[autograd] the rule of 'mine' returned no gradient for input 1");
  EXPECT_ERROR(with([](const Tensor& dy) {
                 return std::vector{dy, dy.reshape({1, 2})};
               }).backward(seed),
               "[autograd] the rule of 'mine' returned a gradient of f64 [1, 2] on cpu for input 1, which is "
               "f64 [2] on cpu");
  EXPECT_ERROR(with([](const Tensor& dy) {
                 return std::vector{dy.to(DType::kF32), dy};
               }).backward(seed),
               "[autograd] the rule of 'mine' returned a gradient of f32 [2] on cpu for input 0, which is "
               "f64 [2] on cpu");
}

TEST(CoreVariable, Errors) {
  const Variable x = leaf({1, 2});
  EXPECT_ERROR(scaled(x, 1, 1).backward(),
               "[autograd] backward() of a variable of shape [2] needs a seed of that shape");
  EXPECT_ERROR(Variable(Tensor::zeros({1})).backward(),
               "[autograd] backward() of a variable that requires no gradient");
  const Variable y = scaled(leaf({1}), 2, 2);
  y.backward();
  EXPECT_ERROR(y.backward(), "[autograd] the graph behind 'scaled' was freed by an earlier backward()");
  EXPECT_ERROR(Variable(Tensor::zeros({1}, DType::kI32), true),
               "[variable] only floating-point tensors have gradients, got i32");
}

TEST(CoreGradcheck, AcceptsRightAndNamesWrongGradients) {
  const auto check_with = [](double gradient_factor) {
    return gradcheck([=](const auto& in) { return scaled(in[0], 3, gradient_factor); }, {leaf({0.5, -2, 4})},
                     {.names = {"x"}});
  };
  EXPECT_TRUE(check_with(3)) << check_with(3).message;
  const GradcheckResult wrong = check_with(3.001);
  EXPECT_FALSE(wrong);
  EXPECT_EQ(wrong.message.find("x ["), 0) << wrong.message;
  EXPECT_NE(wrong.message.find("analytic"), std::string::npos);
  EXPECT_FALSE(check_with(NAN));
  EXPECT_FALSE(check_with(-3));
  EXPECT_FALSE(check_with(0));
}

TEST(CoreGradcheck, SeesThroughConstantSums) {
  // Rows of a softmax sum to one: a plain sum of its outputs has no gradient at all, right or wrong.
  const auto zero_gradient = [](const std::vector<Variable>& in) {
    const std::vector<double> x = in[0].value().template to_vector<double>();
    const double total = std::exp(x[0]) + std::exp(x[1]);
    return record("softmax", Tensor::from(std::vector{std::exp(x[0]) / total, std::exp(x[1]) / total}),
                  {in[0]},
                  [](const Tensor& dy) { return std::vector{Tensor::zeros(dy.shape(), DType::kF64)}; });
  };
  EXPECT_FALSE(gradcheck(zero_gradient, {leaf({0.3, -0.2})}));
}

TEST(CoreGradcheck, RoundingOfALargeLossIsNoSlope) {
  std::vector<double> values(50000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 300 + 1e-3 * static_cast<double>(i % 97);
  const GradcheckResult result =
      gradcheck([](const auto& in) { return scaled(in[0], 1, 1); }, {leaf(values)}, {.max_elements = 20});
  EXPECT_TRUE(result) << result.message;
}

TEST(CoreGradcheck, NoticesChanceAndRestoresInputs) {
  int calls = 0;
  const auto moody = [&](const std::vector<Variable>& in) { return scaled(in[0], 1 + 1e-3 * calls++, 1); };
  EXPECT_EQ(gradcheck(moody, {leaf({1})}).message,
            "the function is not deterministic: two evaluations of the same inputs differ");
  const Variable x = leaf({1, 2, 3});
  EXPECT_TRUE(gradcheck([](const auto& in) { return scaled(in[0], 2, 2); }, {x}));
  EXPECT_EQ(x.value().to_vector<double>(), (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_ERROR(gradcheck([](const auto& in) { return in[0]; }, {Variable(Tensor::zeros({1}), true)}),
               "[gradcheck] input 0 must be f64, got f32: differences of smaller floats are noise");
}

TEST(CoreRandom, PhiloxKnownAnswers) {
  // Random123's published vectors for philox4x32-10.
  const auto words = [](Philox4 p) { return std::vector<std::uint32_t>(p.word, p.word + 4); };
  EXPECT_EQ(words(philox(0, 0, 0)),
            (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words(philox(~0ull, ~0ull, ~0ull)),
            (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words(philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull)),
            (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CoreCategoryTimer, SumsKernelsByCategory) {
  CategoryTimer timer(kCpu);
  const ScopedKernelObserver observe(timer);
  const auto run = [](KernelCategory category) {
    KernelScope kernel("kernel", category, kCpu, {});
    KernelScope nested("nested", KernelCategory::kGemm, kCpu, {});  // not observed
    nested.done();
    kernel.done();
  };
  run(KernelCategory::kSparse);
  run(KernelCategory::kOther);
  const double once = timer.milliseconds(KernelCategory::kSparse);
  EXPECT_GT(once, 0);
  EXPECT_EQ(timer.milliseconds(KernelCategory::kGemm), 0);
  EXPECT_EQ(timer.milliseconds(KernelCategory::kOther), 0);
  run(KernelCategory::kSparse);
  EXPECT_GT(timer.milliseconds(KernelCategory::kSparse), once);
}

TEST(CoreVariable, ANewValueDropsTheGradient) {
  Variable x = leaf({1, 2});
  scaled(x, 3, 3).backward(Tensor::full({2}, 1, DType::kF64));
  ASSERT_TRUE(x.grad().defined());
  x.set_value(Tensor::from(std::vector<double>{5, 6}));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(x.value().to_vector<double>(), (std::vector<double>{5, 6}));
  EXPECT_ERROR(x.set_value(Tensor::zeros({3}, DType::kF64)),
               "[variable] set_value() needs f64 [2], got f64 [3]");
  EXPECT_ERROR(scaled(x, 1, 1).set_value(x.value()), "[variable] set_value() needs a leaf");
}

}  // namespace
}  // namespace rodeo::test
