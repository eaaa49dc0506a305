#include "ops/pairs.h"

#include <cmath>

#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsPairs : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsPairs);

/// k numbers below m, with repetitions; `hub` of them are 0.
Ids random_ids(std::int64_t k, std::int64_t m, std::uint64_t seed, std::int64_t hub = 0) {
  Ids ids;
  for (std::int64_t i = 0; i < k; ++i)
    ids.push_back(i < hub ? 0 : static_cast<std::int64_t>(random_word(seed, 0, i) % m));
  return ids;
}

struct Case {
  std::int64_t m, p, n, k, hub = 0;
};

/// Values and both gradients against float64, and the same bits in a second run.
void check_case(const Case& c, DType dtype, bool dot, Device device) {
  SCOPED_TRACE(str("m ", c.m, " p ", c.p, " n ", c.n, " k ", c.k, " hub ", c.hub, " ", dtype, " ", dot));
  const Ids from = random_ids(c.k, c.m, 5, c.hub), to = random_ids(c.k, c.p, 6);
  const Tensor src = Tensor::from(from, device), dst = Tensor::from(to, device);
  const Tensor a = random_tensor({c.m, c.n}, dtype, device, 1),
               b = random_tensor({c.p, c.n}, dtype, device, 2);
  const Tensor dy = random_tensor(dot ? Shape{c.k} : Shape{c.k, c.n}, dtype, device, 3);
  const Poisoned poisoned;
  const auto run = [&] {
    const Variable x(a, true), y(b, true);
    const Variable s = dot ? pair_dot(x, y, src, dst) : pair_mul(x, y, src, dst);
    s.backward(dy);
    return std::vector{s.value(), x.grad(), y.grad()};
  };
  const std::vector<Tensor> got = run(), again = run();
  const std::vector<double> as = doubles(a), bs = doubles(b), dys = doubles(dy);
  std::vector<double> s(dys.size()), s_scale(dys.size()), da(as.size()), a_scale(as.size()), db(bs.size()),
      b_scale(bs.size());
  for (std::int64_t i = 0; i < c.k; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      const std::int64_t at = dot ? i : i * c.n + j, u = from[i] * c.n + j, v = to[i] * c.n + j;
      s[at] += as[u] * bs[v], s_scale[at] += std::abs(as[u] * bs[v]);
      da[u] += dys[at] * bs[v], a_scale[u] += std::abs(dys[at] * bs[v]);
      db[v] += dys[at] * as[u], b_scale[v] += std::abs(dys[at] * as[u]);
    }
  const double rtol = sum_tolerance(dtype);
  ASSERT_TRUE(near(got[0], s, rtol, 1e-7, s_scale));
  ASSERT_TRUE(near(got[1], da, rtol, 1e-7, a_scale));
  ASSERT_TRUE(near(got[2], db, rtol, 1e-7, b_scale));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(got[i], again[i])) << i;
}

TEST_P(OpsPairs, AllWidths) {
  for (const bool dot : {true, false})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
      for (const std::int64_t n : widths()) check_case({31, 29, n, 77}, dtype, dot, device());
}

TEST_P(OpsPairs, AllForms) {
  for (const bool dot : {true, false})
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      check_case({5, 4, 3, 0}, dtype, dot, device());
      check_case({5, 4, 0, 3}, dtype, dot, device());
      check_case({1, 1, 5, 40}, dtype, dot, device());
      check_case({2000, 1, 4, 9}, dtype, dot, device());
      check_case({300, 200, 7, 5000, 2000}, dtype, dot, device());
      check_case({1000, 1000, 4, 120'000, 100'000}, dtype, dot, device());
    }
}

TEST_P(OpsPairs, Gradients) {
  const Tensor src = Tensor::from(Ids{3, 0, 3, 3, 1}, device()),
               dst = Tensor::from(Ids{0, 2, 0, 1, 2}, device());
  for (const bool dot : {true, false})
    EXPECT_TRUE(gradients_ok(
        [&](const auto& in) {
          return dot ? pair_dot(in[0], in[1], src, dst) : pair_mul(in[0], in[1], src, dst);
        },
        {random_variable({5, 3}, device()), random_variable({4, 3}, device(), 2)}));
  // One matrix on both sides, also as a pair of a node with itself.
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return pair_dot(in[0], in[0], src, dst); },
                           {random_variable({5, 3}, device())}));
}

TEST_P(OpsPairs, Errors) {
  const Tensor x = Tensor::zeros({5, 2}, DType::kF32, device());
  const auto ids = [&](const Ids& values) { return Tensor::from(values, device()); };
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    EXPECT_EQ(error_of([&] {
                pair_dot(x, x, ids({0, bad}), ids({1, 1})).to(kCpu);
              }),
              str("[pair_dot] src[1] = ", bad, " is outside [0, 5)"));
    EXPECT_EQ(error_of([&] {
                pair_mul(x, x, ids({0, 1}), ids({bad, 1})).to(kCpu);
              }),
              str("[pair_mul] dst[0] = ", bad, " is outside [0, 5)"));
  }
  const Tensor fewer = Tensor::zeros({3, 2}, DType::kF32, device());  // src is of a, and dst of b
  EXPECT_EQ(error_of([&] { pair_dot(x, fewer, ids({4}), ids({3})).to(kCpu); }),
            "[pair_dot] dst[0] = 3 is outside [0, 3)");
  EXPECT_EQ(error_of([&] { pair_mul(fewer, x, ids({3}), ids({4})).to(kCpu); }),
            "[pair_mul] src[0] = 3 is outside [0, 3)");
  EXPECT_ERROR(pair_dot(x, Tensor::zeros({5, 3}, DType::kF32, device()), ids({0}), ids({0})),
               "[pair_dot] a and b must have the same number of columns, got [5, 2] and [5, 3]");
  EXPECT_ERROR(pair_dot(x, x, ids({0}), ids({0, 1})), "[pair_dot] dst must be [1], got [2]");
  EXPECT_ERROR(pair_dot(x, x, Tensor::zeros({2}, DType::kI32, device()), ids({0, 1})),
               "[pair_dot] src must be i64 [k]");
}

}  // namespace
}  // namespace rodeo::test
