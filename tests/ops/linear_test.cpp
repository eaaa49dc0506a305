#include "ops/linear.h"

#include "core/context.h"
#include "ops/dense.h"
#include "ops/kernels/dense.h"
#include "ops/pointwise.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsLinear : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsLinear);

constexpr RandomKey kDropoutKey{11, 5};

/// f(i, j, x[i, j]) for the first `columns` columns of a matrix, in float64.
template <class F>
Tensor mapped(const Tensor& x, std::int64_t columns, F f) {
  const std::vector<double> values = doubles(x);
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.dim(0); ++i)
    for (std::int64_t j = 0; j < columns; ++j) out.push_back(f(i, j, values[i * x.dim(1) + j]));
  return Tensor::from(out, {x.dim(0), columns});
}
Tensor magnitude(const Tensor& x) {
  return mapped(x, x.dim(1), [](auto, auto, double v) { return std::abs(v); });
}

/// a b + bias in float64; rounding is relative to the sum of the terms' magnitudes.
testing::AssertionResult is_product(const Tensor& got, const Tensor& a, const Tensor& b, Transpose ta,
                                    Transpose tb, const std::vector<double>& bias = {}) {
  std::vector<double> want = doubles(matmul(a, b, ta, tb));
  std::vector<double> scale = doubles(matmul(magnitude(a), magnitude(b), ta, tb));
  for (std::size_t i = 0; i < want.size() && !bias.empty(); ++i) {
    want[i] += bias[i % bias.size()];
    scale[i] += std::abs(bias[i % bias.size()]);
  }
  return near(got, want, sum_tolerance(got.dtype()), 1e-30, scale);
}

struct Sizes {
  std::int64_t m, k, n;
};
// Every shape of a block in one kernel, whole and cut, and sizes that are left to the library.
constexpr Sizes kProductSizes[] = {
    {1, 3, 2},       {1024, 1, 1},    {1025, 37, 5},   {1500, 16, 16},   {1100, 15, 41},   {2049, 500, 7},
    {1111, 602, 40}, {1200, 128, 47}, {3000, 100, 64}, {1024, 33, 65},   {1300, 64, 200},  {1030, 130, 128},
    {5000, 31, 3},   {1024, 1025, 4}, {40, 20, 300},   {2500, 300, 129}, {1400, 602, 128}, {20000, 100, 72}};

// y, dx, dw and db with and without dropout, scale, bias and padding, against float64.
TEST_P(OpsLinear, ForwardAndGradients) {
  for (const Sizes& s : kProductSizes)
    for (const DType dtype : {DType::kF32, DType::kF64})
      for (const int variant : {0, 1, 2, 3}) {
        if (dtype == DType::kF64 && variant != 2) continue;  // no kernel of its own
        SCOPED_TRACE(str(s.m, " x ", s.k, " x ", s.n, " ", dtype, " variant ", variant));
        const bool drops = variant == 1 || variant == 3, scales = variant >= 1, has_bias = variant == 2;
        const Tensor x = random_tensor({s.m, s.k}, dtype, device(), 1);
        const Variable w(random_tensor({s.k, s.n}, dtype, device(), 2), true);
        const Variable b(random_tensor({s.n}, dtype, device(), 3), true);
        const Tensor scale = scales ? positive(s.m, dtype, device()) : Tensor();
        const std::int64_t columns = variant == 3 ? s.n + 3 : s.n;
        const Tensor dy = random_tensor({s.m, columns}, dtype, device(), 4);

        const Poisoned poisoned;
        const Variable learned(x, !drops);
        const Features given = drops ? dropout(Features(x), 0.4, kDropoutKey, scale) : Features(learned);
        const Variable y = linear(given, w, has_bias ? b : Variable(),
                                  {.then = {.pre_scale = drops ? Tensor() : scale}, .columns = columns});
        y.backward(dy);

        const std::vector<double> factor = scales ? doubles(scale) : std::vector<double>(s.m, 1);
        const auto scaled = [&](std::int64_t i, auto, double v) { return factor[i] * v; };
        const auto same = [](auto, auto, double v) { return v; };
        const Tensor dropped = drops ? dropout(x, 0.4, kDropoutKey) : x, used = mapped(dropped, s.k, scaled);
        const Tensor exact_w = mapped(w.value(), s.n, same), exact_dy = mapped(dy, s.n, same);
        constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;
        ASSERT_EQ(y.shape(), (Shape{s.m, columns}));
        EXPECT_TRUE(is_product(mapped(y.value(), s.n, same).to(dtype), used, exact_w, kNo, kNo,
                               has_bias ? doubles(b.value()) : std::vector<double>()));
        if (columns > s.n) {
          EXPECT_EQ(mapped(y.value(), columns, [&](auto, auto j, double v) { return j < s.n ? 0 : v; })
                        .to_vector<double>(),
                    std::vector<double>(s.m * columns, 0));
        }
        EXPECT_TRUE(is_product(w.grad(), used, exact_dy, kYes, kNo));
        if (has_bias) {
          const Tensor ones = Tensor::full({s.m, 1}, 1, DType::kF64);
          EXPECT_TRUE(is_product(b.grad().reshape({1, s.n}), ones, exact_dy, kYes, kNo));
        }
        if (!drops) {
          EXPECT_TRUE(is_product(learned.grad(), mapped(dy, s.n, scaled), exact_w, kNo, kYes));
        }
      }
}

// Dropped out on the way, or before: the same numbers, and the same bits every time.
TEST_P(OpsLinear, DropsWhatDropoutDrops) {
  for (const std::int64_t k : {12, 30, 31}) {
    const Tensor x = random_tensor({2000, k}, DType::kF32, device(), 1);
    const Variable w(random_tensor({k, 8}, DType::kF32, device(), 2), true);
    const Variable again(w.value(), true);
    const Tensor dy = random_tensor({2000, 8}, DType::kF32, device(), 3);
    const Variable y = linear(dropout(Features(x), 0.6, kDropoutKey), w);
    const Variable z = linear(dropout(Features(x), 0.6, kDropoutKey), again);
    y.backward(dy);
    z.backward(dy);
    EXPECT_TRUE(same_bits(y.value(), z.value()));
    EXPECT_TRUE(same_bits(w.grad(), again.grad()));
    // With ones for weights a row is the number of elements that were kept, an exact sum.
    const Tensor ones = Tensor::full({2000, k}, 1, DType::kF32, device());
    const Variable sums(Tensor::full({k, 1}, 0.4, DType::kF32, device()));
    const Tensor counted = linear(dropout(Features(ones), 0.6, kDropoutKey), sums).value();
    const std::vector<double> kept = doubles(dropout(ones, 0.6, kDropoutKey));
    std::vector<double> want(2000, 0);
    for (std::size_t i = 0; i < kept.size(); ++i) want[i / k] += kept[i] > 0;
    EXPECT_TRUE(near(counted, want, 1e-5, 1e-6));
  }
}

TEST_P(OpsLinear, DropsAllWhereTheProbabilityRoundsToOne) {
  const Tensor x = random_tensor({2000, 16}, DType::kF32, device(), 1);
  const Tensor w = random_tensor({16, 8}, DType::kF32, device(), 2);
  const Variable y = linear(dropout(Features(x), 1 - 0x1p-26, kDropoutKey), Variable(w));
  EXPECT_TRUE(same_bits(y.value(), Tensor::zeros({2000, 8}, DType::kF32, device())));
}

// Both kernels by their names, as linear() takes one or the other by size and GPU.
TEST_P(OpsLinear, EachKernel) {
  if (!device().is_cuda()) GTEST_SKIP() << "CUDA kernels";
  const bool has_wgmma = Context::of(device()).compute_capability() == 90;
  for (const Sizes& s : {Sizes{1025, 37, 5},
                         {1111, 602, 16},
                         {1100, 15, 41},
                         {2049, 300, 48},
                         {1300, 130, 64},
                         {1040, 70, 500}})
    for (const double p : {0.0, 0.4})
      for (const bool transposed : {false, true})
        for (const bool wgmma : {false, true}) {
          if (wgmma && !has_wgmma) continue;
          SCOPED_TRACE(str(s.m, " x ", s.k, " x ", s.n, " p ", p, transposed ? " transposed" : "",
                           wgmma ? " wgmma" : " mma"));
          const Tensor x = random_tensor({s.m, s.k}, DType::kF32, device(), 1);
          const Tensor w =
              random_tensor(transposed ? Shape{s.n, s.k} : Shape{s.k, s.n}, DType::kF32, device(), 2);
          const Tensor b = random_tensor({s.n}, DType::kF32, device(), 3);
          const Tensor dy = random_tensor({s.m, s.n}, DType::kF32, device(), 4);
          const Tensor scale = positive(s.m, DType::kF32, device());
          kernels::DropoutInput d{.x = x, .p = p, .key = kDropoutKey, .scale = scale};
          const Poisoned poisoned;
          if (p > 0) d.kept = Tensor::empty({s.m, (s.k + 31) / 32}, DType::kI32, device());
          const Tensor y = Tensor::empty({s.m, s.n}, DType::kF32, device());
          const Tensor dw = Tensor::empty({s.k, s.n}, DType::kF32, device());
          const Tensor db = Tensor::empty({s.n}, DType::kF32, device());
          if (wgmma) {
            kernels::wgmma_matmul.on(device())(d, w, transposed, b, {}, y);
            kernels::wgmma_matmul_transposed.on(device())(d, {}, dy, {}, dw, db);
          } else {
            kernels::tall_matmul.on(device())(d, w, transposed, b, y);
            kernels::tall_matmul_transposed.on(device())(d, dy, dw, db);
          }
          const std::vector<double> factor = doubles(scale);
          const auto same = [](auto, auto, double v) { return v; };
          const Tensor used = mapped(p > 0 ? dropout(x, p, kDropoutKey) : x, s.k,
                                     [&](std::int64_t i, auto, double v) { return factor[i] * v; });
          const Tensor exact_w = mapped(w, w.dim(1), same), exact_dy = mapped(dy, s.n, same);
          const Tensor ones = Tensor::full({s.m, 1}, 1, DType::kF64);
          constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;
          EXPECT_TRUE(is_product(y, used, exact_w, kNo, transposed ? kYes : kNo, doubles(b)));
          EXPECT_TRUE(is_product(dw, used, exact_dy, kYes, kNo));
          EXPECT_TRUE(is_product(db.reshape({1, s.n}), ones, exact_dy, kYes, kNo));
        }
}

// Several products of one x: those of linear(), in one kernel where a GPU has it, whichever results are read.
TEST_P(OpsLinear, ManyMatrices) {
  struct Case {
    Sizes sizes;  // n: of each matrix
    int matrices;
  };
  for (const auto& [s, count] : {Case{{1500, 128, 64}, 4},
                                 {{1100, 602, 64}, 4},
                                 {{2049, 40, 41}, 4},
                                 {{1025, 37, 66}, 2},
                                 {{1200, 100, 40}, 3},
                                 {{1300, 64, 128}, 4},
                                 {{1300, 64, 8}, 2},
                                 {{60, 9, 40}, 4},
                                 {{1100, 20, 30}, 5}})
    for (const int variant : {0, 1, 2}) {
      SCOPED_TRACE(str(s.m, " x ", s.k, " x ", count, " x ", s.n, " variant ", variant));
      const bool drops = variant == 1, has_bias = variant < 2, reads_all = variant < 2;
      const Tensor x = random_tensor({s.m, s.k}, DType::kF32, device(), 1);
      std::vector<Tensor> dy;
      for (int i = 0; i < count; ++i) dy.push_back(random_tensor({s.m, s.n}, DType::kF32, device(), 10 + i));
      struct Run {
        Variable x;
        std::vector<Variable> w, b, y;
      };
      const auto run = [&](bool many) {
        Run r{Variable(x, !drops), {}, {}, {}};
        for (int i = 0; i < count; ++i) {
          r.w.emplace_back(random_tensor({s.k, s.n}, DType::kF32, device(), 20 + i), true);
          if (has_bias) r.b.emplace_back(random_tensor({s.n}, DType::kF32, device(), 30 + i), true);
        }
        const Poisoned poisoned;
        const Features given = drops ? dropout(Features(x), 0.4, kDropoutKey) : Features(r.x);
        if (many)
          r.y = linear_many(given, r.w, r.b);
        else
          for (int i = 0; i < count; ++i)
            r.y.push_back(linear(given, r.w[i], has_bias ? r.b[i] : Variable()));
        Variable sum;
        for (int i = reads_all ? 0 : 1; i < count; ++i) {
          const Variable term = mul(r.y[i], Variable(dy[i]));
          sum = sum.defined() ? add(sum, term) : term;
        }
        sum.backward(Tensor::full({s.m, s.n}, 1, DType::kF32, device()));
        return r;
      };
      const Run got = run(true), want = run(false);
      ASSERT_EQ(got.y.size(), want.y.size());
      const double k = static_cast<double>(s.k), m = static_cast<double>(s.m);
      const auto close = [](const Tensor& a, const Tensor& b, double terms) {
        return near(a, doubles(b), 1e-6, 1e-6 * terms);
      };
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(close(got.y[i].value(), want.y[i].value(), k)) << i;
        if (!reads_all && i == 0) continue;  // a zero, or nothing
        EXPECT_TRUE(close(got.w[i].grad(), want.w[i].grad(), m)) << i;
        if (has_bias) {
          EXPECT_TRUE(close(got.b[i].grad(), want.b[i].grad(), m)) << i;
        }
      }
      if (!drops) {
        EXPECT_TRUE(close(got.x.grad(), want.x.grad(), static_cast<double>(count * s.n)));
      }
      const Run again = run(true);
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(same_bits(got.y[i].value(), again.y[i].value()));
        EXPECT_TRUE(device().is_cuda() || same_bits(got.y[i].value(), want.y[i].value()));
        if (!reads_all && i == 0) continue;
        EXPECT_TRUE(same_bits(got.w[i].grad(), again.w[i].grad()));
      }
    }
}

TEST_P(OpsLinear, ManyGradients) {
  EXPECT_TRUE(gradients_ok(
      [](const std::vector<Variable>& in) {
        const std::vector<Variable> y = linear_many(in[0], {in[1], in[2]}, {in[3], in[4]});
        return mul(y[0], y[1]);
      },
      {random_variable({6, 4}, device()), random_variable({4, 3}, device()),
       random_variable({4, 3}, device()), random_variable({3}, device()), random_variable({3}, device())}));
}

// In the product's kernel or after it: what epilogue() makes of the product, and its gradients.
TEST_P(OpsLinear, WhatFollowsTheProduct) {
  for (const Sizes& s :
       {Sizes{1500, 40, 128}, {3000, 300, 100}, {1100, 130, 66}, {1200, 60, 24}, {90, 9, 80}})
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kElu})
      for (const double p : {0.0, 0.4})
        for (const bool drops : {false, true}) {
          SCOPED_TRACE(str(s.m, " x ", s.k, " x ", s.n, " f ", int(activation), " p ", p, " drops ", drops));
          const Tensor x = random_tensor({s.m, s.k}, DType::kF32, device(), 1);
          const Tensor scale = positive(s.m, DType::kF32, device());
          EpilogueOptions then{.pre_scale = scale, .activation = activation, .dropout = p, .key = {5, 1}};
          if (activation != Activation::kElu) then.post_scale = positive(s.m, DType::kF32, device(), 7);
          const Tensor dy = random_tensor({s.m, s.n}, DType::kF32, device(), 4);
          struct Run {
            Variable w, b, y;
          };
          const auto run = [&](auto f) {
            Run r{.w = Variable(random_tensor({s.k, s.n}, DType::kF32, device(), 2), true),
                  .b = Variable(random_tensor({s.n}, DType::kF32, device(), 3), true),
                  .y = {}};
            const Poisoned poisoned;
            r.y = f(drops ? dropout(Features(x), 0.3, kDropoutKey) : Features(x), r.w, r.b);
            r.y.backward(dy);
            return r;
          };
          const Run got = run([&](const Features& h, const Variable& w, const Variable& b) {
            return linear(h, w, b, {.then = then});
          });
          const Run want = run([&](const Features& h, const Variable& w, const Variable& b) {
            return epilogue(linear(h, w), b, then);
          });
          const auto sums = [](const Tensor& t) { return std::vector<double>(t.numel(), 100); };
          EXPECT_TRUE(near(got.y.value(), doubles(want.y.value()), 1e-5, 1e-5));
          EXPECT_TRUE(near(got.w.grad(), doubles(want.w.grad()), 1e-5, 1e-5, sums(got.w.grad())));
          EXPECT_TRUE(near(got.b.grad(), doubles(want.b.grad()), 1e-5, 1e-5, sums(got.b.grad())));
        }
}

TEST_P(OpsLinear, Gradients) {
  const Tensor scale = positive(6, DType::kF64, device());
  EXPECT_TRUE(gradients_ok(
      [&](const std::vector<Variable>& in) {
        return linear(in[0], in[1], in[2], {.then = {.pre_scale = scale}});
      },
      {random_variable({6, 4}, device()), random_variable({4, 3}, device()),
       random_variable({3}, device())}));
}

TEST_P(OpsLinear, Errors) {
  const auto matrix = [](std::int64_t m, std::int64_t n) {
    return Variable(Tensor::zeros({m, n}, DType::kF32, device()));
  };
  const Variable b(Tensor::zeros({4}, DType::kF32, device()));
  EXPECT_ERROR(linear(Features(), matrix(3, 4)), "[linear] x is undefined");
  EXPECT_ERROR(linear(matrix(2, 5), matrix(3, 4)), "[linear] inner sizes must be equal, got [2, 5] x [3, 4]");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 5), b), "[linear] bias must be [5], got [4]");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 4), {}, {.then = {.pre_scale = b.value()}}),
               "[linear] then.pre_scale must be [2], got [4]");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 4), {}, {.then = {.post_scale = b.value()}}),
               "[linear] then.post_scale must be [2], got [4]");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 4), {}, {.then = {.dropout = 1}}),
               "[linear] dropout must be in [0, 1), got 1");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 4), {}, {.columns = 3}),
               "[linear] columns must be 4 or more, got 3");
  EXPECT_ERROR(linear(matrix(2, 3), matrix(3, 4), b, {.columns = 8}),
               "[linear] columns must be 4, because a bias or an epilogue follows, got 8");
  EXPECT_ERROR(linear_many(matrix(2, 3), {}), "[linear_many] w must have at least one matrix");
  EXPECT_ERROR(linear_many(matrix(2, 3), {matrix(3, 4), matrix(3, 4)}, {b}),
               "[linear_many] bias must have 2 vectors or none, got 1");
  EXPECT_ERROR(
      linear_many(matrix(2, 3), {matrix(3, 4), matrix(3, 5)}),
      str("[linear_many] all of w must be f32 [3, 4] on ", device(), ", got f32 [3, 5] on ", device()));
  EXPECT_ERROR(linear_many(matrix(2, 5), {matrix(3, 4)}),
               "[linear] inner sizes must be equal, got [2, 5] x [3, 4]");
}

}  // namespace
}  // namespace rodeo::test
