#include "core/storage.h"
#include "ops/dense.h"
#include "ops/gelu.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsActivation : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsActivation);

template <class F, class G>
void check_against_float64(Device device, const F& f, const G& want_of) {
  set_poison_memory(true);
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const Shape& shape : {Shape{0}, Shape{1}, Shape{37, 3}, Shape{5, 4, 500}}) {
      const Tensor x = random_tensor(shape, dtype, device);
      std::vector<double> want = doubles(x);
      for (double& v : want) v = want_of(v);
      EXPECT_TRUE(near(f(x), want, 4 * epsilon(dtype))) << dtype << " " << shape;
    }
  set_poison_memory(false);
}

TEST_P(OpsActivation, LeakyRelu) {
  for (const double slope : {0.0, 0.2, 1.5})
    check_against_float64(
        device(), [&](const Tensor& x) { return leaky_relu(x, slope); },
        [&](double v) { return v > 0 ? v : slope * v; });
  const Tensor special = Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 0}, device());
  const auto y = leaky_relu(special, 0.5).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_EQ(y[2], -INFINITY);
  EXPECT_EQ(y[3], 0);
  EXPECT_TRUE(gradients_ok([](const auto& in) { return leaky_relu(in[0], 0.2); },
                           {random_variable({3, 4, 5}, device())}));
  EXPECT_ERROR(leaky_relu(special, -0.5), "[leaky_relu] slope must be finite and at least 0, got -0.5");
}

TEST_P(OpsActivation, Elu) {
  check_against_float64(
      device(), [](const Tensor& x) { return elu(x); }, [](double v) { return v > 0 ? v : std::expm1(v); });
  const Tensor special = Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 0, -1e-10f}, device());
  const auto y = elu(special).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_EQ(y[2], -1);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], -1e-10f);
  EXPECT_TRUE(gradients_ok([](const auto& in) { return elu(in[0]); }, {random_variable({3, 4}, device())}));
}

TEST_P(OpsActivation, Gelu) {
  check_against_float64(
      device(), [](const Tensor& x) { return gelu(x); },
      [](double v) { return v * std::erfc(-v / std::sqrt(2.0)) / 2; });
  const Tensor special = Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 0, -40}, device());
  const auto y = gelu(special).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_TRUE(gradients_ok([](const auto& in) { return gelu(in[0]); }, {random_variable({3, 4}, device())}));
  EXPECT_ERROR(gelu(Tensor::zeros({2}, DType::kI64, device())), "[gelu] x must be floating point");
}

}  // namespace
}  // namespace rodeo::test
