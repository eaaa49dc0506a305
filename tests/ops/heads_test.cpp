#include "ops/heads.h"

#include "core/storage.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsHeads : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(OpsHeads);

constexpr double kTiny = 1e-7;  // f16 has fewer digits below 6e-5

struct HeadSize {
  std::int64_t n, heads, k;
};
// Widths around a vector and a warp; rows that do not fill the last warp; more than one chunk of a sum.
const HeadSize kHeadSizes[] = {{1, 1, 1},  {5, 3, 2},   {7, 8, 8},    {33, 1, 41},   {9, 5, 47}, {3, 2, 300},
                               {64, 8, 4}, {65, 7, 16}, {2000, 3, 7}, {70001, 2, 4}, {0, 2, 3},  {4, 3, 0}};

std::size_t at(const HeadSize& s, std::int64_t i, std::int64_t h, std::int64_t j) {
  return static_cast<std::size_t>((i * s.heads + h) * s.k + j);
}

TEST_P(OpsHeads, DotAndItsGradients) {
  for (const HeadSize& s : kHeadSizes)
    for (const DType dtype : kFloats) {
      SCOPED_TRACE(str(s.n, " x ", s.heads, " x ", s.k, " ", dtype));
      const Variable x(random_tensor({s.n, s.heads, s.k}, dtype, device(), 1), true);
      const Variable a(random_tensor({s.heads, s.k}, dtype, device(), 2), true);
      const Tensor seed = random_tensor({s.n, s.heads}, dtype, device(), 3);
      const std::vector<double> xv = doubles(x.value()), av = doubles(a.value()), dy = doubles(seed);
      std::vector<double> y(dy.size()), y_scale(y.size()), dx(xv.size()), da(av.size()), da_scale(da.size());
      for (std::int64_t i = 0; i < s.n; ++i)
        for (std::int64_t h = 0; h < s.heads; ++h)
          for (std::int64_t j = 0; j < s.k; ++j) {
            const std::size_t row = static_cast<std::size_t>(i * s.heads + h), e = at(s, i, h, j),
                              v = static_cast<std::size_t>(h * s.k + j);
            y[row] += xv[e] * av[v];
            y_scale[row] += std::abs(xv[e] * av[v]);
            dx[e] = dy[row] * av[v];
            da[v] += dy[row] * xv[e];
            da_scale[v] += std::abs(dy[row] * xv[e]);
          }
      const Variable result = head_dot(x, a);
      EXPECT_TRUE(near(result.value(), y, 4 * epsilon(dtype), 1e-30, y_scale));
      result.backward(seed);
      EXPECT_TRUE(near(x.grad(), dx, epsilon(dtype), kTiny));
      EXPECT_TRUE(near(a.grad(), da, 8 * epsilon(dtype), 1e-30, da_scale));
      const Tensor first = a.grad();
      Variable again = a;
      again.zero_grad();
      head_dot(x, a).backward(seed);
      EXPECT_TRUE(same_bits(first, a.grad()));
    }
}

TEST_P(OpsHeads, Mean) {
  for (const HeadSize& s : kHeadSizes)
    for (const DType dtype : kFloats) {
      SCOPED_TRACE(str(s.n, " x ", s.heads, " x ", s.k, " ", dtype));
      const Variable x(random_tensor({s.n, s.heads, s.k}, dtype, device(), 1), true);
      const Tensor seed = random_tensor({s.n, s.k}, dtype, device(), 3);
      const std::vector<double> xv = doubles(x.value()), dy = doubles(seed);
      const double share = 1 / static_cast<double>(s.heads);
      std::vector<double> y(dy.size()), dx(xv.size());
      for (std::int64_t i = 0; i < s.n; ++i)
        for (std::int64_t h = 0; h < s.heads; ++h)
          for (std::int64_t j = 0; j < s.k; ++j) {
            y[static_cast<std::size_t>(i * s.k + j)] += xv[at(s, i, h, j)] * share;
            dx[at(s, i, h, j)] = dy[static_cast<std::size_t>(i * s.k + j)] * share;
          }
      const Variable result = head_mean(x);
      EXPECT_TRUE(near(result.value(), y, 2 * epsilon(dtype), 2 * epsilon(dtype)));
      result.backward(seed);
      EXPECT_TRUE(near(x.grad(), dx, 2 * epsilon(dtype), kTiny));
    }
}

// Rows that begin at no multiple of 16 bytes take another path.
TEST_P(OpsHeads, TwoDotsAtOnce) {
  for (const HeadSize& s : kHeadSizes)
    for (const DType dtype : kFloats) {
      const Tensor x = random_tensor({s.n, s.heads, s.k}, dtype, device(), 1),
                   a = random_tensor({s.heads, s.k}, dtype, device(), 2),
                   b = random_tensor({s.heads, s.k}, dtype, device(), 3);
      const auto [y, z] = head_dots(x, a, b);
      EXPECT_TRUE(same_bits(y, head_dot(x, a)));
      EXPECT_TRUE(same_bits(z, head_dot(x, b)));
    }
}

TEST_P(OpsHeads, DotOfUnalignedRows) {
  const Tensor whole = random_tensor({1 + 6 * 8}, DType::kF32, device());
  const Tensor x = whole.slice(1, 49).reshape({3, 2, 8}), a = random_tensor({2, 8}, DType::kF32, device(), 2);
  EXPECT_TRUE(near(head_dot(x, a), doubles(head_dot(x.clone(), a)), 1e-5, 1e-6));
}

TEST_P(OpsHeads, GradientsInFloat64) {
  EXPECT_TRUE(gradients_ok([](const auto& in) { return head_dot(in[0], in[1]); },
                           {random_variable({7, 3, 5}, device()), random_variable({3, 5}, device(), 2)}));
  for (const std::int64_t heads : {1, 4})
    EXPECT_TRUE(gradients_ok([](const auto& in) { return head_mean(in[0]); },
                             {random_variable({7, heads, 5}, device())}));
  EXPECT_TRUE(gradients_ok(
      [](const auto& in) {
        return reshape(in[0], {7, 15});
      },
      {random_variable({7, 3, 5}, device())}));
}

TEST_P(OpsHeads, Errors) {
  const Tensor x = Tensor::zeros({4, 3, 2}, DType::kF32, device());
  EXPECT_ERROR(head_dot(x.reshape({4, 6}), x), "[head_dot] x must be [n, heads, k], got [4, 6]");
  EXPECT_ERROR(head_dot(x, Tensor::zeros({2, 3}, DType::kF32, device())),
               "[head_dot] a must be [3, 2], got [2, 3]");
  EXPECT_ERROR(head_dot(x, Tensor::zeros({3, 2}, DType::kF64, device())),
               "[head_dot] a must have the dtype of x, f32, got f64");
  EXPECT_ERROR(head_mean(Tensor()), "[head_mean] x is undefined");
  EXPECT_ERROR(head_mean(Tensor::zeros({4, 0, 2}, DType::kF32, device())),
               "[head_mean] x must have heads, got [4, 0, 2]");
}

}  // namespace
}  // namespace rodeo::test
