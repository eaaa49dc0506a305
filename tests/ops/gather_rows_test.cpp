#include "ops/gather_rows.h"

#include <cmath>

#include "core/storage.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsGatherRows : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGatherRows);

/// k row numbers below m, with repetitions; `hub` of them are 0.
Ids random_ids(std::int64_t k, std::int64_t m, std::int64_t hub = 0) {
  Ids ids;
  for (std::int64_t i = 0; i < k; ++i) ids.push_back(i < hub ? 0 : (i * 7919 + 13) % m);
  return ids;
}

void check_case(const Ids& ids, std::int64_t m, const Shape& x_shape, DType dtype, Device device) {
  SCOPED_TRACE(str(ids.size(), " of ", m, " ", x_shape, " ", dtype));
  const std::int64_t n = x_shape.rank() == 2 ? x_shape[1] : 1, k = static_cast<std::int64_t>(ids.size());
  const Tensor index = Tensor::from(ids, device);
  const Variable x(random_tensor(x_shape, dtype, device), true);
  const Shape y_shape = x_shape.rank() == 2 ? Shape{k, n} : Shape{k};
  const Tensor dy = random_tensor(y_shape, dtype, device, 2);
  const Poisoned poisoned;
  const auto run = [&] {
    const Variable leaf(x.value(), true);
    const Variable y = gather_rows(leaf, index);
    y.backward(dy);
    return std::pair{y.value(), leaf.grad()};
  };
  const auto [y, dx] = run();
  ASSERT_EQ(y.shape(), y_shape);
  const std::vector<double> xs = doubles(x.value()), dys = doubles(dy);
  std::vector<double> want(static_cast<std::size_t>(k * n)), sum(xs.size()), scale(xs.size());
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      want[i * n + j] = xs[ids[i] * n + j];
      sum[ids[i] * n + j] += dys[i * n + j];
      scale[ids[i] * n + j] += std::abs(dys[i * n + j]);
    }
  ASSERT_TRUE(near(y, want, 0, 0));
  ASSERT_TRUE(near(dx, sum, sum_tolerance(dtype), 1e-7, scale));
  ASSERT_TRUE(same_bits(dx, run().second));
}

TEST_P(OpsGatherRows, AllWidths) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t n : widths()) check_case(random_ids(50, 31), 31, {31, n}, dtype, device());
    check_case(random_ids(50, 31), 31, {31}, dtype, device());
  }
}

TEST_P(OpsGatherRows, AllForms) {
  for (const DType dtype : kFloats) {
    check_case({}, 5, {5, 3}, dtype, device());
    check_case({}, 0, {0, 3}, dtype, device());
    check_case({1, 0}, 2, {2, 0}, dtype, device());
    check_case({4}, 5, {5, 8}, dtype, device());
    check_case({4, 3, 2, 1, 0}, 5, {5, 8}, dtype, device());
    check_case(random_ids(513, 40, 300), 40, {40, 7}, dtype, device());
  }
  check_case(random_ids(120'000, 1000, 100'000), 1000, {1000, 4}, DType::kF32, device());
}

TEST_P(OpsGatherRows, SlicedOperandsAreNotAligned) {
  const Tensor x = random_tensor({1 + 20 * 8}, DType::kBF16, device()).slice(1, 161).reshape({20, 8});
  const Tensor index = Tensor::from(random_ids(60, 20), device());
  EXPECT_TRUE(same_bits(gather_rows(x, index), gather_rows(x.clone(), index)));
}

// Offsets into X and Y that do not fit 31 bits.
TEST_P(OpsGatherRows, OffsetsPast2GiB) {
  if (!device().is_cuda()) GTEST_SKIP() << "takes 5 GiB: a large GPU's case";
  constexpr std::int64_t kRows = 2'200'000, kWidth = 255;  // words of four bytes: an odd width
  const Tensor x = uniform({kRows, kWidth}, 0, 1, {1, 2}, DType::kF32, device());
  Ids ids;
  for (std::int64_t i = 0; i < kRows; ++i) ids.push_back(kRows - 1 - i);
  const Poisoned poisoned;
  const Tensor y = gather_rows(x, Tensor::from(ids, device()));
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, kRows / 2, kRows - 1})
    EXPECT_EQ(doubles(y.slice(i, i + 1)), doubles(x.slice(kRows - 1 - i, kRows - i))) << i;
}

TEST_P(OpsGatherRows, Gradients) {
  const Tensor index = Tensor::from(Ids{3, 0, 3, 3, 1}, device());
  for (const Shape& shape : {Shape{5}, Shape{5, 3}})
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return gather_rows(in[0], index); },
                             {random_variable(shape, device())}));
}

TEST_P(OpsGatherRows, Errors) {
  const Tensor x = Tensor::zeros({5, 2}, DType::kF32, device());
  const auto ids = [&](const Ids& values) { return Tensor::from(values, device()); };
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const std::string text = str("[gather_rows] index[2] = ", bad, " is outside [0, 5)");
    EXPECT_EQ(error_of([&] { gather_rows(x, ids({0, 4, bad})).to(kCpu); }), text);
    EXPECT_EQ(error_of([&] {
                const Variable leaf(x, true);
                gather_rows(leaf, ids({0, 4, bad})).backward(Tensor::full({3, 2}, 1, DType::kF32, device()));
              }),
              text);
  }
  EXPECT_ERROR(gather_rows(Tensor(), ids({0})), "[gather_rows] x is undefined");
  EXPECT_ERROR(gather_rows(x.reshape({5, 2, 1}), ids({0})),
               "[gather_rows] x must be [m] or [m, n], got [5, 2, 1]");
  EXPECT_ERROR(gather_rows(Tensor::zeros({5}, DType::kI64, device()), ids({0})),
               "[gather_rows] x must be floating point, got i64");
  EXPECT_ERROR(gather_rows(x, Tensor::zeros({2}, DType::kI32, device())),
               "[gather_rows] index must be i64 [k]");
}

}  // namespace
}  // namespace rodeo::test
