#include "ops/regression_loss.h"

#include <cmath>

#include "core/storage.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsRegressionLoss : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRegressionLoss);

/// `square`: mse_loss, else l1_loss.
template <class X>
X loss_of(bool square, const X& x, const Tensor& target, const Tensor& index = {}) {
  return square ? mse_loss(x, target, index) : l1_loss(x, target, index);
}

void check_loss(bool square, const Shape& shape, const Ids& ids, DType dtype, Device device) {
  SCOPED_TRACE(str(square ? "mse " : "l1 ", shape, " ", dtype, " index of ", ids.size()));
  const Variable x(random_tensor(shape, dtype, device, 1), true);
  const Tensor target = random_tensor(shape, dtype, device, 2);
  const Tensor index = ids.empty() ? Tensor() : Tensor::from(ids, device);
  const Poisoned poisoned;
  const Variable loss = loss_of(square, x, target, index);
  ASSERT_EQ(loss.shape(), Shape{});
  ASSERT_EQ(loss.dtype(), dtype == DType::kF64 ? DType::kF64 : DType::kF32);
  EXPECT_TRUE(same_bits(loss.value(), loss_of(square, x.value(), target, index)));
  loss.backward();

  const std::vector<double> xs = doubles(x.value()), ts = doubles(target);
  const std::int64_t c = shape.rank() == 2 ? shape[1] : 1;
  Ids rows = ids;
  for (std::int64_t i = 0; ids.empty() && i < shape[0]; ++i) rows.push_back(i);
  const double count = static_cast<double>(rows.size()) * static_cast<double>(c);
  double want = 0;
  std::vector<double> dx(xs.size()), scale(xs.size());
  for (const std::int64_t i : rows)
    for (std::int64_t at = i * c; at < (i + 1) * c; ++at) {
      const double difference = xs[at] - ts[at];
      want += (square ? difference * difference : std::abs(difference)) / count;
      dx[at] += (square ? 2 * difference : std::copysign(difference == 0 ? 0 : 1, difference)) / count;
      scale[at] += (square ? 2 * (std::abs(xs[at]) + std::abs(ts[at])) : 1) / count;
    }
  EXPECT_NEAR(loss.value().item(), want, (dtype == DType::kF64 ? 1e-13 : epsilon(DType::kF32)) * want);
  EXPECT_TRUE(near(x.grad(), dx, 2 * epsilon(dtype), 1e-7, scale));
}

void check_case(const Shape& shape, const Ids& ids, DType dtype, Device device) {
  for (const bool square : {true, false}) check_loss(square, shape, ids, dtype, device);
}

TEST_P(OpsRegressionLoss, AgainstFloat64) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    for (const std::int64_t c : widths()) {
      check_case({11, c}, {}, dtype, device());
      check_case({11, c}, {10, 0, 4, 4}, dtype, device());
    }
    check_case({1}, {}, dtype, device());
    check_case({300}, {}, dtype, device());
    check_case({300}, {7}, dtype, device());
  }
  check_case({70'000, 3}, {}, DType::kF32, device());
  Ids odd;
  for (std::int64_t i = 1; i < 70'000; i += 2) odd.push_back(i);
  check_case({70'000, 3}, odd, DType::kF32, device());
}

TEST_P(OpsRegressionLoss, Gradients) {
  const Tensor target = random_tensor({6, 3}, DType::kF64, device(), 2);
  for (const bool square : {true, false})
    for (const Tensor& index : {Tensor(), Tensor::from(Ids{5, 0, 5}, device())})
      EXPECT_TRUE(gradients_ok([&](const auto& in) { return loss_of(square, in[0], target, index); },
                               {random_variable({6, 3}, device())}));
}

TEST_P(OpsRegressionLoss, L1HasNoSlopeAtZero) {
  const Variable x(Tensor::from(std::vector<float>{1, 2, -3}, device()), true);
  const Variable loss = l1_loss(x, Tensor::from(std::vector<float>{1, 0, 0}, device()));
  EXPECT_EQ(loss.value().item(), 5.0f / 3);
  loss.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 1.0f / 3, -1.0f / 3}));
}

TEST_P(OpsRegressionLoss, NanIsNotHidden) {
  const Tensor x = Tensor::from(std::vector<float>{1, NAN, 3}, device()),
               target = Tensor::zeros({3}, DType::kF32, device());
  EXPECT_TRUE(std::isnan(mse_loss(x, target).item()));
  EXPECT_TRUE(std::isnan(l1_loss(x, target).item()));
  EXPECT_EQ(mse_loss(x, target, Tensor::from(Ids{0, 2}, device())).item(), 5);
}

TEST_P(OpsRegressionLoss, Errors) {
  const Tensor x = Tensor::zeros({5, 2}, DType::kF32, device());
  const auto ids = [&](const Ids& values) { return Tensor::from(values, device()); };
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40})
    EXPECT_EQ(error_of([&] {
                mse_loss(x, x, ids({0, 4, bad})).to(kCpu);
              }),
              str("[mse_loss] index[2] = ", bad, " is outside [0, 5)"));
  EXPECT_ERROR(mse_loss(x, x, ids({})), "[mse_loss] index is empty: the mean over no node is undefined");
  EXPECT_ERROR(mse_loss(x.slice(0, 0), x.slice(0, 0)), "[mse_loss] x is empty: the mean is undefined");
  EXPECT_ERROR(mse_loss(x, x.reshape({2, 5})), "[mse_loss] target must be [5, 2], got [2, 5]");
  EXPECT_ERROR(mse_loss(x, x.to(DType::kF64)), "[mse_loss] target must have the dtype of x, f32, got f64");
  EXPECT_ERROR(mse_loss(x, x, Tensor::zeros({2}, DType::kI32, device())), "[mse_loss] index must be i64 [k]");
  EXPECT_ERROR(mse_loss(x.reshape({5, 2, 1}), x),
               "[mse_loss] x must be [nodes] or [nodes, c], got [5, 2, 1]");
}

}  // namespace
}  // namespace rodeo::test
