#include "ops/norm.h"

#include "ops/combine.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsNorm : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsNorm);

struct Size {
  std::int64_t m, n;
};
constexpr Size kSizes[] = {{2, 1}, {5, 3}, {64, 33}, {700, 16}, {70001, 3}};

struct Moments {
  double mean = 0, var = 0;  // divisor: the number of values
};

/// Moments of x[begin + k * step], k < count.
Moments moments(const std::vector<double>& x, std::int64_t begin, std::int64_t step, std::int64_t count) {
  Moments out;
  for (std::int64_t k = 0; k < count; ++k) out.mean += x[begin + k * step] / static_cast<double>(count);
  for (std::int64_t k = 0; k < count; ++k) {
    const double d = x[begin + k * step] - out.mean;
    out.var += d * d / static_cast<double>(count);
  }
  return out;
}

Tensor f32_or_f64(const std::vector<double>& values, DType dtype, Device device) {
  return Tensor::from(values).to(dtype == DType::kF64 ? dtype : DType::kF32).to(device);
}

TEST_P(OpsNorm, BatchNormAndItsRunningStatistics) {
  for (const auto& [m, n] : kSizes)
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({m, n}, dtype, device(), 1), w = random_tensor({n}, dtype, device(), 2),
                   b = random_tensor({n}, dtype, device(), 3);
      const std::vector<double> xv = doubles(x), wv = doubles(w), bv = doubles(b);
      std::vector<double> want(xv.size()), mean(static_cast<std::size_t>(n)), var(mean.size()),
          eval(xv.size());
      for (std::int64_t j = 0; j < n; ++j) {
        const Moments column = moments(xv, j, n, m);
        mean[j] = 0.75 * 0.5 + 0.25 * column.mean;
        var[j] = 0.75 * 2 + 0.25 * column.var * static_cast<double>(m) / static_cast<double>(m - 1);
        for (std::int64_t i = j; i < m * n; i += n) {
          want[i] = (xv[i] - column.mean) / std::sqrt(column.var + 1e-3) * wv[j] + bv[j];
          eval[i] = (xv[i] - mean[j]) / std::sqrt(var[j] + 1e-3) * wv[j] + bv[j];
        }
      }
      const std::vector<double> half(mean.size(), 0.5), two(mean.size(), 2);
      const RunningStats running{f32_or_f64(half, dtype, device()), f32_or_f64(two, dtype, device())};
      BatchNormOptions options{.eps = 1e-3, .momentum = 0.25};
      const Poisoned poisoned;
      const auto run = [&](const RunningStats& stats) {
        return batch_norm(Variable(x), Variable(w), Variable(b), stats, options).value();
      };
      const double tolerance = dtype == DType::kF64   ? 1e-11
                               : dtype == DType::kF32 ? 2e-5
                                                      : 2 * epsilon(dtype);
      const Tensor y = run(running);
      EXPECT_TRUE(near(y, want, tolerance, tolerance)) << m << " x " << n << " " << dtype;
      EXPECT_TRUE(same_bits(y, run({})));
      const double of_stats = dtype == DType::kF64 ? 1e-11 : 2e-5;
      EXPECT_TRUE(near(running.mean, mean, of_stats, of_stats));
      EXPECT_TRUE(near(running.var, var, of_stats, of_stats));
      options.training = false;
      EXPECT_TRUE(near(run(running), eval, tolerance, tolerance));
      EXPECT_TRUE(near(running.var, var, of_stats, of_stats));  // as it was
      EXPECT_TRUE(same_bits(run({}), y));                       // none: those of the column
    }
}

TEST_P(OpsNorm, LayerNorm) {
  for (const auto& [m, n] : {Size{1, 1}, {5, 3}, {64, 33}, {30, 700}})
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({m, n}, dtype, device(), 1), w = random_tensor({n}, dtype, device(), 2),
                   b = random_tensor({n}, dtype, device(), 3);
      const std::vector<double> xv = doubles(x), wv = doubles(w), bv = doubles(b);
      std::vector<double> want(xv.size()), plain(xv.size());
      for (std::int64_t i = 0; i < m; ++i) {
        const Moments row = moments(xv, i * n, 1, n);
        for (std::int64_t j = 0; j < n; ++j) {
          plain[i * n + j] = (xv[i * n + j] - row.mean) / std::sqrt(row.var + 1e-5);
          want[i * n + j] = plain[i * n + j] * wv[j] + bv[j];
        }
      }
      const Poisoned poisoned;
      const double tolerance = dtype == DType::kF64   ? 1e-11
                               : dtype == DType::kF32 ? 2e-5
                                                      : 2 * epsilon(dtype);
      EXPECT_TRUE(
          near(layer_norm(Variable(x), Variable(w), Variable(b)).value(), want, tolerance, tolerance));
      EXPECT_TRUE(near(layer_norm(Variable(x), {}, {}).value(), plain, tolerance, tolerance));
    }
}

TEST_P(OpsNorm, L2NormalizeLeavesZeroAlone) {
  const Tensor x = Tensor::from(std::vector<float>{3, 4, 0, 0, 0, -2}, {3, 2}, device());
  EXPECT_TRUE(near(l2_normalize(Variable(x)).value(), {0.6, 0.8, 0, 0, 0, -1}, 1e-6));
}

TEST_P(OpsNorm, Gradients) {
  const auto x = [&] { return random_variable({7, 5}, device(), 1); };
  const auto vector = [&](std::uint64_t seed) { return random_variable({5}, device(), seed); };
  const RunningStats running{random_tensor({5}, DType::kF64, device(), 9),
                             Tensor::full({5}, 0.7, DType::kF64, device())};
  const BatchNormOptions eval{.training = false};
  EXPECT_TRUE(gradients_ok([](const auto& in) { return batch_norm(in[0], in[1], in[2], {}); },
                           {x(), vector(2), vector(3)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return batch_norm(in[0], {}, {}, {}); }, {x()}));
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return batch_norm(in[0], in[1], in[2], running, eval); },
                           {x(), vector(2), vector(3)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return layer_norm(in[0], in[1], in[2]); },
                           {x(), vector(2), vector(3)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return layer_norm(in[0], {}, {}); }, {x()}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return l2_normalize(in[0]); }, {x()}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return l2_normalize(in[0], 100); }, {x()}));
}

TEST_P(OpsNorm, NoColumnsAndNoRows) {
  const Variable none(Tensor::empty({4, 0}, DType::kF32, device())),
      empty(Tensor::empty({0, 4}, DType::kF32, device()));
  EXPECT_EQ(batch_norm(none, {}, {}, {}).shape(), (Shape{4, 0}));
  EXPECT_EQ(layer_norm(empty, {}, {}).shape(), (Shape{0, 4}));
  EXPECT_EQ(layer_norm(none, {}, {}).shape(), (Shape{4, 0}));
  EXPECT_EQ(l2_normalize(empty).shape(), (Shape{0, 4}));
}

TEST_P(OpsNorm, Errors) {
  const Variable x(Tensor::zeros({1, 3}, DType::kF32, device())),
      short_one(Tensor::zeros({2}, DType::kF32, device()));
  EXPECT_ERROR(batch_norm(x, {}, {}, {}),
               "[batch_norm] the statistics of a column need at least 2 rows, got 1");
  EXPECT_ERROR(layer_norm(x, short_one, {}), "[layer_norm] weight must be [3], got [2]");
  EXPECT_ERROR(batch_norm(x, {}, {}, {short_one.value(), {}}),
               "[batch_norm] running mean and var must both be defined, or neither");
}

TEST_P(OpsNorm, CombineGradients) {
  const auto x = [&](std::uint64_t seed) { return random_variable({7, 5}, device(), seed); };
  EXPECT_TRUE(
      gradients_ok([](const auto& in) { return linear_combination(0.9, in[0], -2, in[1]); }, {x(1), x(2)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return scale_add(in[0], in[1], in[2]); },
                           {random_variable({1}, device(), 3), x(1), x(2)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return maximum(in[0], in[1]); }, {x(1), x(2)}));
  EXPECT_TRUE(gradients_ok(
      [](const auto& in) {
        return concat_columns({in[0], in[1], in[0]});
      },
      {x(1), random_variable({7, 2}, device(), 4)}));
}

TEST_P(OpsNorm, CombineValues) {
  const auto make = [&](const std::vector<float>& values, DType dtype) {
    return Variable(Tensor::from(values, {2, 2}).to(dtype).to(device()));
  };
  for (const DType dtype : kFloats) {
    const Variable a = make({1, -2, 3, 4}, dtype), b = make({2, -2, -3, NAN}, dtype);
    const Poisoned poisoned;
    EXPECT_TRUE(near(linear_combination(2, a, -1, a).value(), {1, -2, 3, 4}, 0, 0));
    const std::vector<double> top = doubles(maximum(a, b).value());
    EXPECT_EQ(std::vector<double>(top.begin(), top.begin() + 3), (std::vector<double>{2, -2, 3}));
    EXPECT_TRUE(std::isnan(top[3]));
    const Variable zero = make({0, -0.f, 1, -1}, dtype), other = make({-0.f, 0, 1, -1}, dtype);
    EXPECT_TRUE(same_bits(maximum(zero, other).value(), zero.value()))
        << "of equal numbers the first is taken";
    EXPECT_TRUE(near(concat_columns({a, a}).value(), {1, -2, 1, -2, 3, 4, 3, 4}, 0, 0));
    const Variable s(Tensor::full({1}, 0.5, dtype, device()));
    EXPECT_TRUE(near(scale_add(s, a, a).value(), {2.5, -5, 7.5, 10}, 0, 0));
  }
  EXPECT_ERROR(concat_columns(std::vector<Variable>{}), "[concat_columns] needs at least one part");
  EXPECT_ERROR(maximum(make({1, 2, 3, 4}, DType::kF32), make({1, 2, 3, 4}, DType::kF64)),
               "[maximum] y must have the dtype of x, f32, got f64");
}

}  // namespace
}  // namespace rodeo::test
