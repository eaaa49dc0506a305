#include "ops/soft_cross_entropy.h"

#include "core/storage.h"
#include "ops/loss.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsSoftCrossEntropy : public OnDevice {
 protected:
  static Tensor ints(const std::vector<std::int64_t>& values) { return Tensor::from(values, device()); }
};
RODEO_ON_ALL_DEVICES(OpsSoftCrossEntropy);

TEST_P(OpsSoftCrossEntropy, WithoutOptionsIsCrossEntropy) {
  set_poison_memory(true);
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t c : {1, 3, 47}) {
      const Variable logits(random_tensor({50, c}, dtype, device()), /*requires_grad=*/true);
      const Variable other(logits.value(), /*requires_grad=*/true);
      std::vector<std::int64_t> label;
      for (std::int64_t i = 0; i < 50; ++i) label.push_back(i * 3 % c);
      const Tensor index = ints({4, 7, 7, 20, 49});
      const Variable loss =
          soft_cross_entropy(logits, soft_targets(Tensor::from(label, device()), index, c, {}));
      const Variable want = cross_entropy(other, Tensor::from(label, device()), index);
      EXPECT_NEAR(loss.value().item(), want.value().item(), 1e-5) << dtype << " " << c;
      loss.backward(Tensor::full({}, 1, loss.dtype(), device()));
      want.backward(Tensor::full({}, 1, want.dtype(), device()));
      EXPECT_TRUE(near(logits.grad(), doubles(other.grad()), 8 * epsilon(dtype), 8 * epsilon(dtype) / 50))
          << dtype << " " << c;
    }
  set_poison_memory(false);
}

// torch.nn.functional.cross_entropy(x, y, weight=[1, 3], label_smoothing=0.2), computed by its formula.
TEST_P(OpsSoftCrossEntropy, WeightsAndSmoothing) {
  const Tensor x = Tensor::from(std::vector<float>{0.5f, -1, 2, 0.25f}, device()).reshape({2, 2});
  const Tensor target =
      soft_targets(ints({0, 1}), ints({0, 1}), 2, {.class_weight = {1, 3}, .label_smoothing = 0.2});
  const auto nll = [](double own, double other) { return std::log1p(std::exp(other - own)); };
  const double a0 = nll(0.5, -1), a1 = nll(-1, 0.5), b0 = nll(2, 0.25), b1 = nll(0.25, 2);
  const double want = (0.8 * (1 * a0 + 3 * b1) + 0.1 * (1 * a0 + 3 * a1 + 1 * b0 + 3 * b1)) / (1.0 + 3.0);
  EXPECT_NEAR(soft_cross_entropy(Variable(x), target).value().item(), want, 1e-6);
}

TEST_P(OpsSoftCrossEntropy, Gradient) {
  const Tensor target = soft_targets(ints({0, 2, 1, 1}), ints({0, 1, 3}), 3,
                                     {.class_weight = {1, 2, 0.5}, .label_smoothing = 0.1})
                            .to(DType::kF64);
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return soft_cross_entropy(in[0], target); },
                           {random_variable({4, 3}, device())}));
}

TEST_P(OpsSoftCrossEntropy, Errors) {
  const Tensor label = ints({0, 1}), index = ints({0});
  EXPECT_ERROR(soft_targets(label, index, 2, {.class_weight = {1}}),
               "[soft_targets] class_weight must have 2 values, got 1");
  EXPECT_ERROR(soft_targets(label, index, 2, {.class_weight = {0, 1}}),
               "[soft_targets] the class weights of all named nodes are 0");
  EXPECT_ERROR(soft_targets(label, index, 2, {.label_smoothing = 1}),
               "[soft_targets] label_smoothing must be in [0, 1), got 1");
  EXPECT_ERROR(soft_cross_entropy(Variable(Tensor::zeros({2, 3}, DType::kF32, device())),
                                  Tensor::zeros({2, 2}, DType::kF32, device())),
               "[soft_cross_entropy] target must be [2, 3], got [2, 2]");
}

}  // namespace
}  // namespace rodeo::test
