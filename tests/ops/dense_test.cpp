#include "ops/dense.h"

#include "core/context.h"
#include "core/storage.h"
#include "core/threads.h"
#include "tests/support/address_space.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/process.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsDense : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(OpsDense);

constexpr Transpose kEither[] = {Transpose::kNo, Transpose::kYes};

// OpenBLAS looks for memory without end where the address space has a limit.
TEST(OpsDenseBuffers, AnAddressSpaceThatIsTooSmallIsAnError) {
  if (sanitized()) GTEST_SKIP() << "sanitizers need the address space";
  const Tensor a = random_tensor({9, 5}, DType::kF32, kCpu, 1),
               b = random_tensor({5, 7}, DType::kF32, kCpu, 2);
  const int threads = num_threads();
  set_num_threads(1000);
  {
    const AddressSpaceLimit limit(64 << 20);
    EXPECT_THROW(matmul(a, b), OutOfMemory);
  }
  set_num_threads(threads);
}

TEST_P(OpsDense, MatmulPaddedIsMatmulAndZeros) {
  const Poisoned poisoned;
  const Variable a(random_tensor({9, 5}, DType::kF64, device(), 1), true),
      b(random_tensor({5, 7}, DType::kF64, device(), 2), true);
  for (const std::int64_t columns : {7, 8, 12}) {
    const std::vector<double> want = doubles(matmul(a.value(), b.value())),
                              got = doubles(matmul_padded(a.value(), b.value(), columns));
    for (std::int64_t i = 0; i < 9; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        ASSERT_NEAR(got[i * columns + j], j < 7 ? want[i * 7 + j] : 0, 1e-14) << columns;
    EXPECT_TRUE(
        gradients_ok([&](const auto& in) { return relu(matmul_padded(in[0], in[1], columns)); }, {a, b}));
  }
}

TEST_P(OpsDense, Matmul) {
  struct Size {
    std::int64_t m, k, n;
  };
  for (const auto& [m, k, n] :
       {Size{1, 1, 1}, {5, 7, 3}, {64, 32, 16}, {33, 129, 41}, {3, 0, 2}, {0, 4, 2}, {700, 3, 1}})
    for (const Transpose ta : kEither)
      for (const Transpose tb : kEither)
        for (const DType dtype : kFloats) {
          const bool at = ta == Transpose::kYes, bt = tb == Transpose::kYes;
          const Tensor a = random_tensor(at ? Shape{k, m} : Shape{m, k}, dtype, device(), 1);
          const Tensor b = random_tensor(bt ? Shape{n, k} : Shape{k, n}, dtype, device(), 2);
          const std::vector<double> av = doubles(a), bv = doubles(b);
          std::vector<double> want(static_cast<std::size_t>(m * n)), scale(want.size());
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              for (std::int64_t l = 0; l < k; ++l) {
                const double term = av[at ? l * m + i : i * k + l] * bv[bt ? j * k + l : l * n + j];
                want[i * n + j] += term;
                scale[i * n + j] += std::abs(term);
              }
          const Tensor c = matmul(a, b, ta, tb);
          EXPECT_TRUE(near(c, want, 2 * epsilon(dtype), 1e-6 * epsilon(dtype), scale))
              << m << " x " << k << " x " << n << " " << dtype << " transposed " << at << bt;
          EXPECT_TRUE(same_bits(c, matmul(a, b, ta, tb)));
        }
}

TEST_P(OpsDense, MatmulOfSlicedOperands) {
  const Tensor whole = random_tensor({13}, DType::kF32, device());
  const Tensor a = whole.slice(1, 13).reshape({4, 3}), b = whole.slice(1, 7).reshape({3, 2});
  EXPECT_TRUE(same_bits(matmul(a, b), matmul(a.clone(), b.clone())) ||
              near(matmul(a, b), doubles(matmul(a.clone(), b.clone())), 1e-6));
}

TEST_P(OpsDense, MatmulGradients) {
  for (const Transpose ta : kEither)
    for (const Transpose tb : kEither)
      EXPECT_TRUE(
          gradients_ok([&](const auto& in) { return matmul(in[0], in[1], ta, tb); },
                       {random_variable(ta == Transpose::kYes ? Shape{3, 4} : Shape{4, 3}, device()),
                        random_variable(tb == Transpose::kYes ? Shape{5, 3} : Shape{3, 5}, device(), 2)}));
}

TEST_P(OpsDense, Tf32IsOptIn) {
  if (!device().is_cuda()) GTEST_SKIP() << "TF32 is a mode of CUDA devices";
  const Tensor a = random_tensor({256, 256}, DType::kF32, device(), 1),
               b = random_tensor({256, 256}, DType::kF32, device(), 2);
  const std::vector<double> exact = doubles(matmul(a.to(DType::kF64), b.to(DType::kF64)));
  EXPECT_TRUE(near(matmul(a, b), exact, 0, 2e-5));
  set_allow_tf32(true);
  const Tensor rounded = matmul(a, b);
  set_allow_tf32(false);
  EXPECT_FALSE(near(rounded, exact, 0, 2e-5));
  EXPECT_TRUE(near(rounded, exact, 0, 5e-2));
}

TEST_P(OpsDense, Add) {
  for (const DType dtype : kFloats) {
    const Tensor a = random_tensor({40, 7}, dtype, device(), 1),
                 b = random_tensor({40, 7}, dtype, device(), 2);
    std::vector<double> want = doubles(a), bv = doubles(b);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += bv[i];
    EXPECT_TRUE(near(add(a, b), want, epsilon(dtype)));
  }
  const Variable x = random_variable({3, 2}, device());
  EXPECT_TRUE(gradients_ok([](const auto& in) { return add(in[0], in[0]); }, {x}));
  EXPECT_ERROR(
      add(x.value(), Tensor::zeros({2, 3}, DType::kF64, device())),
      str("[add] a is f64 [3, 2] on ", device(), ", b must be the same, got f64 [2, 3] on ", device()));
}

TEST_P(OpsDense, AddBiasAndSumRows) {
  for (const std::int64_t m : {0, 1, 63, 64, 65, 5000})
    for (const std::int64_t n : {1, 7, 16, 33, 100})
      for (const DType dtype : kFloats) {
        const Tensor x = random_tensor({m, n}, dtype, device(), 1),
                     b = random_tensor({n}, dtype, device(), 2);
        const std::vector<double> xv = doubles(x), bv = doubles(b);
        std::vector<double> want(xv), sums(static_cast<std::size_t>(n)), scale(sums.size());
        for (std::size_t i = 0; i < xv.size(); ++i) {
          want[i] += bv[i % n];
          sums[i % n] += xv[i];
          scale[i % n] += std::abs(xv[i]);
        }
        EXPECT_TRUE(near(add_bias(x, b), want, epsilon(dtype), epsilon(dtype)));
        EXPECT_TRUE(near(sum_rows(x), sums, 8 * epsilon(dtype), 1e-30, scale))
            << m << " x " << n << " " << dtype;
        EXPECT_TRUE(same_bits(sum_rows(x), sum_rows(x)));
      }
  EXPECT_TRUE(gradients_ok([](const auto& in) { return add_bias(in[0], in[1]); },
                           {random_variable({6, 3}, device()), random_variable({3}, device(), 2)}));
  EXPECT_ERROR(
      add_bias(Tensor::zeros({2, 3}, DType::kF32, device()), Tensor::zeros({2}, DType::kF32, device())),
      "[add_bias] b must be [3], got [2]");
}

TEST_P(OpsDense, Relu) {
  const Tensor x = Tensor::from(std::vector<float>{-1, 0, 2, NAN, -0.0f, INFINITY, -INFINITY}, device());
  const auto y = relu(x).to_vector<float>();
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[2], 2);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[5], INFINITY);
  EXPECT_EQ(y[6], 0);
  for (const DType dtype : kFloats) {
    const Tensor r = random_tensor({1000}, dtype, device());
    std::vector<double> want = doubles(r);
    for (double& v : want) v = std::max(v, 0.0);
    EXPECT_TRUE(near(relu(r), want, 0));
  }
  EXPECT_TRUE(gradients_ok([](const auto& in) { return relu(in[0]); }, {random_variable({5, 4}, device())}));
}

TEST_P(OpsDense, DropoutIsUnbiasedAndRecomputable) {
  const Tensor ones = Tensor::full({100001}, 1, DType::kF32, device());
  for (const double p : {0.1, 0.5, 0.9}) {
    const Tensor y = dropout(ones, p, {1, 2});
    EXPECT_TRUE(same_bits(y, dropout(ones, p, {1, 2})));
    EXPECT_FALSE(same_bits(y, dropout(ones, p, {1, 3})));
    EXPECT_FALSE(same_bits(y, dropout(ones, p, {2, 2})));
    EXPECT_TRUE(same_bits(y, dropout(ones.to(kCpu), p, {1, 2})));  // one mask on every device
    double sum = 0;
    for (const double v : doubles(y)) {
      EXPECT_TRUE(v == 0 || std::abs(v - 1 / (1 - p)) < 1e-6 / (1 - p));
      sum += v;
    }
    EXPECT_NEAR(sum / 100001, 1, 6 * std::sqrt(p / (1 - p) / 100001));
  }
  EXPECT_TRUE(dropout(ones, 0, {1, 2}).shares_memory_with(ones));
  EXPECT_TRUE(gradients_ok(
      [](const auto& in) {
        return dropout(in[0], 0.4, {3, 1});
      },
      {random_variable({9, 3}, device())}));
  EXPECT_ERROR(dropout(ones, 1, {1, 2}), "[dropout] p must be in [0, 1), got 1");
}

TEST_P(OpsDense, UniformIsTheSameOnEveryDevice) {
  const Tensor u = uniform({10007}, -2, 3, {5, 6}, DType::kF32, device());
  EXPECT_TRUE(same_bits(u, uniform({10007}, -2, 3, {5, 6})));
  double sum = 0;
  for (const double v : doubles(u)) {
    EXPECT_GE(v, -2);
    EXPECT_LT(v, 3);
    sum += v;
  }
  EXPECT_NEAR(sum / 10007, 0.5, 0.1);
  EXPECT_TRUE(same_bits(uniform({9}, 0, 1, {5, 6}, DType::kF64, device()).to(DType::kF32),
                        uniform({9}, 0, 1, {5, 6})));
  const double bound = std::sqrt(6.0 / (30 + 20));
  for (const double v : doubles(glorot_uniform(30, 20, {1, 1}, DType::kF32, device())))
    EXPECT_LE(std::abs(v), bound + 1e-6);
}

TEST_P(OpsDense, Errors) {
  const Tensor a = Tensor::zeros({2, 3}, DType::kF32, device());
  EXPECT_ERROR(matmul(a, a), "[matmul] inner sizes must be equal, got [2, 3] x [2, 3]");
  EXPECT_ERROR(matmul(a, a.to(DType::kF64)), "[matmul] b must have the dtype of a, f32, got f64");
  if (device().is_cuda()) {
    EXPECT_ERROR(matmul(a, Tensor::zeros({3, 3})), "[matmul] b must be on cuda:0 as a is, got cpu");
  }
}

}  // namespace
}  // namespace rodeo::test
